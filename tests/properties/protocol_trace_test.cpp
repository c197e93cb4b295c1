// Two plans of one job are equal in what they do; a lapse shows as the first op that differs.
#include "properties/protocol_trace.h"

#include <gtest/gtest.h>

#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

Scenario tied(Strategy strategy) {
  Scenario s = base(strategy);
  s.parameters.push_back({.name = "w1", .shape = {4, 32}});
  s.uses = {{1}, {0}, {0}};
  if (is_unfused_only(strategy)) {
    for (ScenarioUse& use : s.uses) use.producer = Producer::unfused;
  }
  return s;
}

TEST(ProtocolTrace, AttemptsThatWereGivenUpAreLeftOut) {
  for (int i = 0; i < kStrategies; ++i) {
    const Scenario straight = tied(static_cast<Strategy>(i));
    for (const Abort& abort :
         {Abort{0, 0, 0}, Abort{0, 0, 1}, Abort{0, 1, 3}, Abort{1, 1, 2}, Abort{1, -1, 0}}) {
      Scenario s = straight;
      s.loop.aborts = {abort, abort};
      const Plan plan = plan_of(s).plan, fresh = plan_of(straight).plan;
      EXPECT_GT(plan.ops.size(), fresh.ops.size());
      EXPECT_EQ(trace(plan).size(), 2u);
      EXPECT_FALSE(first_difference(plan, fresh)) << describe(s);
    }
  }
}

TEST(ProtocolTrace, AProcessThatGoesOnDoesTheSame) {
  for (int i = 0; i < kStrategies; ++i) {
    const Scenario straight = tied(static_cast<Strategy>(i));
    Scenario s = straight;
    s.loop.resumes = {0};
    EXPECT_FALSE(first_difference(plan_of(s).plan, plan_of(straight).plan)) << describe(s);
  }
}

TEST(ProtocolTrace, ThePlaceOfADifferenceIsNamed) {
  Scenario s = base(Strategy::megatron_ddp);
  s.first_microbatch = FirstMicrobatch::none;
  Scenario other = s;
  other.zeroing = false;
  const Plan plan = plan_of(s).plan;
  const auto difference = first_difference(plan, plan_of(other).plan);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->step, 0);
  EXPECT_EQ(word_of(plan, plan.ops[static_cast<std::size_t>(difference->op.value)]), "write1")
      << "zeroed bytes are added to, others overwritten";
}

TEST(ProtocolTrace, StreamsAndTheTimeOfReductionsSayNothing) {
  Scenario s = base(Strategy::megatron_ddp_zero1), other = s;
  other.overlap = false;
  EXPECT_FALSE(first_difference(plan_of(s).plan, plan_of(other).plan));
}

}  // namespace
}  // namespace shardcheck::tests
