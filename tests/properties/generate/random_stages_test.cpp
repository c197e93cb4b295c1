// Random pipelines: stages, tied copies, tensor-parallel ranks and late gradients are valid, survive a file,
// and their right plans show nothing.
#include "properties/generate/random_stages.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/registry.h"
#include "properties/evidence.h"
#include "properties/generate/random_scenario.h"
#include "properties/generate/shrinks.h"
#include "sim/scenario/json.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

Scenario drawn_pipeline(std::uint64_t seed) {
  Draw draw(seed, 12);
  return random_scenario(draw, Focus::pipeline);
}

TEST(RandomStages, EveryCaseIsValidAndSurvivesAFile) {
  int tied = 0, copied = 0, deferred = 0, assigned = 0, clipped = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Scenario s = drawn_pipeline(seed);
    validate(s, "drawn");
    EXPECT_EQ(scenario_from_json(to_json(s), "f.json"), s);
    tied += std::ranges::any_of(s.parameters, [](const ScenarioParameter& p) { return p.tied_to >= 0; });
    copied += std::ranges::any_of(s.parameters, &ScenarioParameter::sequence_parallel);
    deferred += std::ranges::count(s.uses, Producer::deferred, &ScenarioUse::producer) > 0;
    assigned += std::ranges::count(s.uses, Producer::assigned, &ScenarioUse::producer) > 0;
    clipped += s.clip > 0;
  }
  EXPECT_GT(std::min({tied, copied, deferred, assigned, clipped}), 100);
}

TEST(RandomStages, RightPlansShowNothing) {
  const auto backend = make_backend("cpu", {.profile = "ideal"});
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Scenario s = drawn_pipeline(seed);
    const Evidence evidence = examine(*backend, s, seed % 2 == 0 ? Poison::quiet_nan : Poison::large);
    EXPECT_TRUE(evidence.findings.empty()) << evidence.findings.front().sentence << '\n' << to_json(s);
  }
}

TEST(RandomStages, ShrinkToOneStageWithoutCopiesAndLateGradients) {
  Scenario s = drawn_pipeline(0);
  for (std::uint64_t seed = 1; tied_copy(s, 0) < 0; ++seed) s = drawn_pipeline(seed);
  for (auto smaller = shrinks(s); !smaller.empty(); smaller = shrinks(s)) s = smaller.front();
  EXPECT_EQ(s.stages, 1);
  EXPECT_EQ(s.tensor, 1);
  EXPECT_EQ(s.clip, 0);
  EXPECT_EQ(s.parameters.size(), 1u);
}

}  // namespace
}  // namespace shardcheck
