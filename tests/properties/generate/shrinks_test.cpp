#include "properties/generate/shrinks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "properties/generate/complexity.h"
#include "properties/generate/random_scenario.h"
#include "properties/generate/soundness.h"
#include "sim/scenario/json.h"
#include "sim/scenario/validate.h"
#include "tests/properties/generate/foci.h"

namespace shardcheck {
namespace {

TEST(Shrinks, AreValidSimplerAndSound) {
  for (const Focus focus : kFoci) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      Draw draw(seed);
      Scenario s = random_scenario(draw, focus);
      s.fault = "B-04";
      for (const Scenario& simpler : shrinks(s)) {
        ASSERT_NO_THROW(validate(simpler, "shrink")) << to_json(s) << to_json(simpler);
        ASSERT_LT(complexity_of(simpler), complexity_of(s)) << to_json(s) << to_json(simpler);
        ASSERT_TRUE(is_sound(simpler)) << to_json(s) << to_json(simpler);
        ASSERT_EQ(simpler.fault, "B-04");
        ASSERT_FALSE(simpler == s);
      }
    }
  }
}

TEST(Shrinks, TheLongestWayDownIsShort) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Draw draw(seed);
    Scenario s = random_scenario(draw, Focus::any);
    std::int64_t steps = 0;
    // The last candidate is the least helpful one.
    for (auto next = shrinks(s); !next.empty(); next = shrinks(s), ++steps) s = next.back();
    EXPECT_LT(steps, 400) << seed;
    EXPECT_EQ(s.ranks, 1);
    EXPECT_EQ(s.parameters.size(), 1u);
  }
}

TEST(Shrinks, TheSimplestScenarioHasNone) {
  Scenario s;
  s.ranks = s.steps = s.microbatches = 1;
  s.overlap = false;
  s.parameters.push_back({.name = "w0", .shape = {1, 1}});
  s.uses = {{0, Producer::fused, -1}};
  EXPECT_TRUE(shrinks(s).empty());
}

TEST(Shrinks, AWrongProtocolMayStayWrong) {
  Scenario s;
  s.strategy = Strategy::fsdp_optim_grads;
  s.write_mode = WriteMode::r1;
  s.parameters.push_back({.name = "w0", .shape = {2, 4}});
  s.uses = {{0, Producer::fused, -1}, {0, Producer::fused, -1}};
  ASSERT_FALSE(is_sound(s));
  const auto all = shrinks(s);
  EXPECT_TRUE(std::ranges::any_of(all, [](const Scenario& c) { return c.ranks == 1 && !is_sound(c); }));
}

TEST(Shrinks, MendWhatPointsAtRanksThatAreGone) {
  Scenario s;
  s.ranks = 6;
  s.expert_parallel = 3;
  s.parameters.push_back({.name = "w0", .shape = {2, 20}, .expert = true});
  s.uses = {{0, Producer::fused, -1}};
  s.silent = {{0, 1, 5, 1}};
  s.token_counts = {{4, 0, 0}, {5, 0, 3}};
  const auto all = shrinks(s);
  const auto half = std::ranges::find_if(all, [](const Scenario& c) { return c.ranks == 3; });
  ASSERT_NE(half, all.end());
  EXPECT_EQ(half->expert_parallel, 3);
  EXPECT_EQ(half->silent, (std::vector<Silence>{{0, 1, 2, 1}}));
  EXPECT_EQ(half->token_counts, (std::vector<TokenCount>{{2, 0, 0}}));
}

}  // namespace
}  // namespace shardcheck
