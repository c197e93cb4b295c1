#include "properties/generate/random_scenario.h"

#include <gtest/gtest.h>

#include "backends/registry.h"
#include "properties/evidence.h"
#include "properties/generate/room.h"
#include "properties/generate/soundness.h"
#include "sim/scenario/json.h"
#include "sim/scenario/validate.h"
#include "tests/properties/generate/foci.h"

namespace shardcheck {
namespace {

TEST(RandomScenario, IsValidSoundAndSmall) {
  std::int64_t elements = 0, draws = 0, provenance = 0;
  for (const Focus focus : kFoci) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed, ++draws) {
      Draw draw(seed, 1);
      const Scenario s = random_scenario(draw, focus);
      ASSERT_NO_THROW(validate(s, "drawn")) << to_json(s);
      ASSERT_TRUE(is_sound(s)) << to_json(s);
      for (const ScenarioParameter& p : s.parameters) elements += p.numel();
      provenance += s.data == DataMode::provenance;
      // Digits decode only where every scale is exact.
      ASSERT_TRUE(s.data == DataMode::integers || has_exact_scale(s)) << to_json(s);
    }
  }
  EXPECT_EQ(draws, 2000 * std::ssize(kFoci));
  EXPECT_LT(elements / draws, 1000);
  EXPECT_GT(provenance, draws / 2);
}

TEST(RandomScenario, DependsOnItsDrawAlone) {
  for (const Focus focus : kFoci) {
    Draw a(5, 2), b(5, 2);
    EXPECT_EQ(random_scenario(a, focus), random_scenario(b, focus));
    EXPECT_EQ(a.word(), b.word());
  }
}

TEST(RandomScenario, ShowsNoFinding) {
  const auto backend = make_backend("cpu", {.profile = "ideal"});
  for (const Focus focus : kFoci) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      Draw draw(seed, 3);
      const Scenario s = random_scenario(draw, focus);
      const auto findings = examine(*backend, s, Poison::quiet_nan).findings;
      ASSERT_TRUE(findings.empty()) << findings.front().clause << ' ' << findings.front().sentence << '\n'
                                    << to_json(s);
    }
  }
}

}  // namespace
}  // namespace shardcheck
