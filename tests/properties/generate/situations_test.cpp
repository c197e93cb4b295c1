#include "properties/generate/situations.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "properties/generate/random_scenario.h"
#include "tests/properties/generate/foci.h"

namespace shardcheck {
namespace {

std::set<std::string_view> reached_by(const Scenario& s) {
  std::set<std::string_view> names;
  const Geometry geometry = geometry_of(s);
  for (const Situation& situation : situations()) {
    if (situation.is_reached(s, geometry)) names.insert(situation.name);
  }
  return names;
}

TEST(Situations, EveryFocusReachesTheOnesItRequires) {
  for (const Focus focus : kFoci) {
    std::map<std::string_view, int> seen;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      Draw draw(seed, 4);
      for (const std::string_view name : reached_by(random_scenario(draw, focus))) ++seen[name];
    }
    // Five of 2000, so that 2000 cases of another seed reach it too, but for one seed in 150 at worst.
    for (const Situation& situation : situations()) {
      if (!is_required(situation, focus)) continue;
      EXPECT_GE(seen[situation.name], 5) << situation.name << ", focus " << static_cast<int>(focus);
    }
  }
}

TEST(Situations, EachIsRequiredByAFocusOtherThanAny) {
  for (const Situation& situation : situations()) {
    EXPECT_FALSE(situation.required_by.empty()) << situation.name;
    // Scenarios without FP8 weights cannot be where only those are.
    const bool is_of_fp8 = situation.required_by == std::vector{Focus::fp8};
    EXPECT_EQ(is_required(situation, Focus::any), !is_of_fp8) << situation.name;
  }
}

Scenario plain() {
  Scenario s;
  s.parameters.push_back({.name = "w0", .shape = {2, 6}});
  s.uses = {{0, Producer::fused, -1}};
  return s;
}

TEST(Situations, APlainScenarioReachesNone) {
  EXPECT_TRUE(reached_by(plain()).empty());
}

TEST(Situations, ReadTheScenario) {
  Scenario s = plain();
  s.parameters[0].expert = true;
  s.expert_parallel = 2;
  EXPECT_EQ(reached_by(s), (std::set<std::string_view>{"expert group of one"}));
  s = plain();
  s.strategy = Strategy::megatron_ddp_zero1;
  s.parameters[0].shape = {1, 1};
  EXPECT_TRUE(reached_by(s).contains("empty shard"));
  s = plain();
  s.silent = {{0, 1, -1, -1}};
  EXPECT_EQ(reached_by(s), (std::set<std::string_view>{"silent step"}));
  s.silent = {{0, -1, 1, 0}};
  EXPECT_EQ(reached_by(s), (std::set<std::string_view>{"silent microbatch on one rank"}));
  s.silent = {{0, -1, -1, -1}};
  EXPECT_EQ(reached_by(s), (std::set<std::string_view>{"unused parameter"}));
}

TEST(Situations, ALeaseIsReusedByAnotherBucket) {
  Scenario s = plain();
  s.strategy = Strategy::fsdp_optim_grads;
  s.parameters.push_back({.name = "w1", .shape = {2, 6}, .unit = 1});
  s.slots = 2;
  EXPECT_FALSE(reached_by(s).contains("lease reuse"));
  s.slots = 1;
  EXPECT_TRUE(reached_by(s).contains("lease reuse"));
}

}  // namespace
}  // namespace shardcheck
