// Random distributed weights are valid, survive a file, and their right plans show nothing.
#include "properties/generate/random_distributed.h"

#include <gtest/gtest.h>

#include "backends/registry.h"
#include "properties/evidence.h"
#include "properties/generate/random_scenario.h"
#include "properties/generate/shrinks.h"
#include "sim/scenario/json.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

Scenario drawn_distributed(std::uint64_t seed) {
  Draw draw(seed, 12);
  return random_scenario(draw, Focus::persistent);
}

TEST(RandomDistributed, AreValidSurviveAFileAndShowNothing) {
  const auto backend = make_backend("cpu", {.profile = "ideal"});
  int shared = 0, alone = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Scenario s = drawn_distributed(seed);
    if (!has_distributed(s)) continue;
    validate(s, "drawn");
    EXPECT_EQ(scenario_from_json(to_json(s), "f.json"), s);
    const Evidence evidence = examine(*backend, s, seed % 2 == 0 ? Poison::quiet_nan : Poison::large);
    EXPECT_TRUE(evidence.findings.empty()) << evidence.findings.front().sentence << '\n' << to_json(s);
    (s.gtp > 1 ? shared : alone) += 1;
  }
  EXPECT_GT(shared, 60);
  EXPECT_GT(alone, 20);
}

TEST(RandomDistributed, ShrinkToAnOrdinaryWeight) {
  Scenario s = drawn_distributed(0);
  for (std::uint64_t seed = 1; !has_distributed(s) || s.gtp == 1; ++seed) s = drawn_distributed(seed);
  for (auto smaller = shrinks(s); !smaller.empty(); smaller = shrinks(s)) s = smaller.front();
  EXPECT_FALSE(has_distributed(s));
  EXPECT_EQ(s.gtp, 1);
}

TEST(RandomDistributed, RowsAreRoundedUpToAMultipleOfTheRanksThatShareThem) {
  Scenario s;
  s.ranks = s.gtp = 4;
  s.parameters = {{.name = "w0", .shape = {5, 3}}, {.name = "w1", .shape = {5, 3}}};
  s.uses = {{0, Producer::distributed, -1}, {1, Producer::fused, -1}};
  match_distributed(s);
  EXPECT_EQ(s.parameters[0].shape[0], 8);
  EXPECT_EQ(s.parameters[1].shape[0], 5);
}

}  // namespace
}  // namespace shardcheck
