// Random FP8 training steps are valid, keep shapes that their recipe takes, and shrink to plain ones.
#include "properties/generate/random_fp8.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "backends/registry.h"
#include "properties/evidence.h"
#include "properties/generate/complexity.h"
#include "properties/generate/random_scenario.h"
#include "properties/generate/shrinks.h"
#include "sim/scenario/json.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

Scenario drawn_fp8(std::uint64_t seed) {
  Draw draw(seed, 11);
  return random_scenario(draw, Focus::fp8);
}

TEST(RandomFp8, EveryCaseIsValidAndSurvivesAFile) {
  std::set<std::string> recipes;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Scenario s = drawn_fp8(seed);
    ASSERT_TRUE(s.fp8.has_value());
    validate(s, "drawn");
    EXPECT_EQ(scenario_from_json(to_json(s), "f.json"), s);
    recipes.insert(s.fp8->recipe);
  }
  EXPECT_GE(recipes.size(), 14u);
}

TEST(RandomFp8, RightPlansShowNothing) {
  const auto backend = make_backend("cpu", {.profile = "hopper"});
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Scenario s = drawn_fp8(seed);
    const Evidence evidence = examine(*backend, s, seed % 2 == 0 ? Poison::quiet_nan : Poison::large);
    EXPECT_TRUE(evidence.findings.empty()) << evidence.findings.front().sentence << '\n' << to_json(s);
  }
}

TEST(RandomFp8, NothingDependsOnPoison) {
  const auto backend = make_backend("cpu", {.profile = "hopper"});
  for (std::uint64_t seed = 300; seed < 340; ++seed) {
    const Scenario s = drawn_fp8(seed);
    EXPECT_EQ(examine(*backend, s, Poison::quiet_nan).fingerprint,
              examine(*backend, s, Poison::large).fingerprint)
        << to_json(s);
  }
}

TEST(RandomFp8, ShapesAreRaisedToMultiples) {
  Scenario s = drawn_fp8(1);
  s.fp8->recipe = "te-mxfp8";
  s.parameters = {{.name = "w", .shape = {33, 1}}, {.name = "b", .shape = {5}}};
  round_up_shapes(s);
  EXPECT_EQ(s.parameters[0].shape, (std::vector<std::int64_t>{64, 32}));
  EXPECT_EQ(s.parameters[1].shape, (std::vector<std::int64_t>{5}));
}

TEST(RandomFp8, ShrinksTakeTheLifeAwayPieceByPiece) {
  Scenario s = drawn_fp8(2);
  s.fp8->recompute = true;
  s.fp8->evaluations = {0};
  bool loses_all = false, loses_recompute = false, loses_evaluation = false;
  for (const Scenario& smaller : shrinks(s)) {
    EXPECT_LT(complexity_of(smaller), complexity_of(s));
    loses_all |= !smaller.fp8;
    loses_recompute |= smaller.fp8 && !smaller.fp8->recompute && !smaller.fp8->evaluations.empty();
    loses_evaluation |= smaller.fp8 && smaller.fp8->recompute && smaller.fp8->evaluations.empty();
  }
  EXPECT_TRUE(loses_all && loses_recompute && loses_evaluation);
}

}  // namespace
}  // namespace shardcheck
