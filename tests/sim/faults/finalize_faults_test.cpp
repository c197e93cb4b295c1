// What each fault of this kind takes from the plan and brings into it, on two stages of two ranks.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(FinalizeFaults, RewriteThePlan) {
  expect_rewrites(add_finalize_faults, {
                                           {"B-26", ""},
                                           {"B-45", ""},
                                           {"M-W32a", "-2 AR "},
                                           {"M-W32b", "+2 AR "},
                                           {"M-W32c", ""},
                                           {"M-W32d", ""},
                                           {"M-W32g", "-2 AR "},
                                           {"M-W32h", "+2 AR "},
                                           {"M-W24b", "-2 AR +2 AR-avg "},
                                           {"M-W32e", ""},
                                           {"M-W32f", ""},
                                       });
}

/// Position of the first op of the step that has the purpose.
std::ptrdiff_t first_of(const Plan& plan, Purpose purpose, std::int16_t step) {
  const auto found = std::ranges::find_if(
      plan.ops, [&](const Op& op) { return op.why.purpose == purpose && op.why.step == step; });
  return found - plan.ops.begin();
}

TEST(FinalizeFaults, MoveWhatComesTooEarlyOrTooLate) {
  for (const std::int16_t step : {std::int16_t{0}, std::int16_t{1}}) {
    const Plan early = rewritten("M-W32c"), divided = rewritten("M-W32d"), clipped = rewritten("M-W32f");
    EXPECT_LT(first_of(early, Purpose::reduce_tied, step), first_of(early, Purpose::reduce, step));
    EXPECT_LT(first_of(divided, Purpose::divide, step), first_of(divided, Purpose::reduce_tied, step));
    EXPECT_LT(first_of(clipped, Purpose::clip, step), first_of(clipped, Purpose::divide, step));
    const Plan late = rewritten("M-W32e");
    EXPECT_GT(first_of(late, Purpose::divide, step), first_of(late, Purpose::consume, step));
  }
}

TEST(FinalizeFaults, DrainTheLastDeferredGradientBehindTheReduction) {
  const Plan plan = rewritten("B-26");
  bool reduced = false;
  int late = 0, drained = 0;
  for (const Op& op : plan.ops) {
    if (std::holds_alternative<BeginStep>(op.action)) reduced = false;
    reduced |= op.why.purpose == Purpose::reduce;
    const bool writes = op.why.deferred && op.why.purpose == Purpose::write;
    drained += writes;
    late += writes && reduced;
    EXPECT_TRUE(!writes || (op.why.microbatch == 1) == reduced) << "that of the last microbatch alone";
  }
  EXPECT_EQ(drained, 4);
  EXPECT_EQ(late, 2) << "one a step";
}

TEST(FinalizeFaults, GiveEachRankOfTheSecondStageItsNeighboursSlice) {
  const Plan plan = rewritten("B-45");
  for (const Op& op : plan.ops) {
    if (!std::holds_alternative<Finish>(op.action)) continue;
    const auto slices = plan.operand(op, 0);
    const bool in_order = slices[0].offset < slices[1].offset;
    EXPECT_EQ(in_order, plan.ranks_of(op)[0].value < 2);
  }
}

}  // namespace
}  // namespace shardcheck::tests
