#include "backends/cluster/local_plan.h"

#include <gtest/gtest.h>

#include "core/plan/builder.h"

namespace shardcheck::cluster {
namespace {

std::vector<Rank> ranks(std::initializer_list<int> values) {
  std::vector<Rank> ranks;
  for (const int value : values) ranks.push_back(Rank{value});
  return ranks;
}

TEST(LocalPlan, BlocksAreEvenInOrderAndCoverAllRanks) {
  EXPECT_EQ(block_of(8, {1, 4}), (Block{2, 4}));
  EXPECT_EQ(block_of(5, {0, 2}), (Block{0, 3}));
  EXPECT_EQ(block_of(3, {3, 4}), (Block{3, 3}));
  for (std::int32_t count = 0; count < 20; ++count) {
    for (int processes = 1; processes < 9; ++processes) {
      std::int32_t next = 0;
      for (int process = 0; process < processes; ++process) {
        const Block block = block_of(count, {process, processes});
        EXPECT_EQ(block.first, next);
        EXPECT_GE(block.count(), count / processes);
        EXPECT_LE(block.count(), count / processes + 1);
        next = block.last;
      }
      EXPECT_EQ(next, count);
    }
  }
}

/// Ranks 0 to 3: a fill on 1 and 2, a collective over pairs of neighbours, one over {0, 2} and {1, 3}.
Plan small_plan() {
  Plan plan;
  plan.ranks = 4;
  PlanBuilder builder(plan);
  const View a = builder.whole(builder.buffer("a", BufferRole::main_grad, DType::f32, 8));
  builder.op(Fill{1}, {}, Stream::compute, ranks({1, 2})).on_each([&](std::int32_t i) {
    return View{a.buffer, i, 1};
  });
  builder.op(Communicate{.group = 2}, {}, Stream::reduce, ranks({0, 1, 2, 3})).on(a).on(a);
  builder.op(Communicate{.group = 2}, {}, Stream::reduce, ranks({0, 2, 1, 3})).on(a).on(a);
  return plan;
}

TEST(LocalPlan, KeepsTheOwnedRanksOfEveryOpAndCountsThemFromZero) {
  const LocalPlan local = local_plan_of(small_plan(), {1, 2});
  EXPECT_EQ(local.owned, (Block{2, 4}));
  EXPECT_EQ(local.plan.ranks, 2);
  ASSERT_EQ(local.plan.ops.size(), 3u);
  EXPECT_EQ(local.plan.ranks_of(local.plan.ops[0])[0], Rank{0});
  EXPECT_EQ(local.plan.operand(local.plan.ops[0], 0)[0].offset, 1);  // rank 2's view
  EXPECT_EQ(local.plan.ops[1].ranks, 2);
  EXPECT_TRUE(std::holds_alternative<Communicate>(local.plan.ops[1].action));
  EXPECT_EQ(local.plan.ops[2].ranks, 0);
  EXPECT_TRUE(is_event(local.plan.ops[2].action));
  EXPECT_EQ(local.crosses, (std::vector<bool>{false, false, true}));
}

TEST(LocalPlan, HasADigestThatTellsPlansApart) {
  const Plan plan = small_plan();
  EXPECT_EQ(local_plan_of(plan, {0, 2}).digest, local_plan_of(plan, {1, 2}).digest);
  Plan other = plan;
  ++other.view_arena[1].offset;
  EXPECT_NE(local_plan_of(plan, {0, 2}).digest, local_plan_of(other, {0, 2}).digest);
}

}  // namespace
}  // namespace shardcheck::cluster
