#include "core/plan/builder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardcheck {
namespace {

class Builder : public ::testing::Test {
 protected:
  Plan plan;
  PlanBuilder build{plan};
  const std::vector<Rank> both{Rank{0}, Rank{1}}, one{Rank{1}};
  const BufferId main = build.buffer("main_grad", BufferRole::main_grad, DType::f32, 8);
};

TEST_F(Builder, OperandsAreEqualOrRankByRank) {
  build.op(Copy{}, {}, Stream::reduce, both).on(build.whole(main));
  build.on_each([&](std::int32_t i) { return View{main, 4 * i, 4}; });
  const Op& op = plan.ops.at(0);
  EXPECT_EQ(op.operands, 2);
  EXPECT_EQ(op.stream, Stream::reduce);
  EXPECT_EQ(plan.operand(op, 0)[0], (View{main, 0, 8}));
  EXPECT_EQ(plan.operand(op, 0)[1], (View{main, 0, 8}));
  EXPECT_EQ(plan.operand(op, 1)[0], (View{main, 0, 4}));
  EXPECT_EQ(plan.operand(op, 1)[1], (View{main, 4, 4}));
}

TEST_F(Builder, EqualConsecutiveRankListsAreShared) {
  for (const auto& ranks : {both, both, one, one, both}) build.op(BeginStep{}, {}, Stream::compute, ranks);
  EXPECT_EQ(plan.rank_arena.size(), 5u);
  EXPECT_EQ(plan.ops[0].first_rank, plan.ops[1].first_rank);
  EXPECT_EQ(plan.ops[2].first_rank, plan.ops[3].first_rank);
  for (std::size_t i : {0u, 1u, 4u}) EXPECT_TRUE(std::ranges::equal(plan.ranks_of(plan.ops[i]), both)) << i;
  for (std::size_t i : {2u, 3u}) EXPECT_TRUE(std::ranges::equal(plan.ranks_of(plan.ops[i]), one)) << i;
}

TEST_F(Builder, AnOpOnNoRankHasNoViews) {
  build.op(Fill{0}, {}, Stream::compute, {}).on(build.whole(main));
  EXPECT_TRUE(plan.ranks_of(plan.ops[0]).empty());
  EXPECT_TRUE(plan.operand(plan.ops[0], 0).empty());
}

TEST_F(Builder, BuffersAndEventsCountUp) {
  EXPECT_EQ(build.buffer("b", BufferRole::shard, DType::bf16, 3).value, main.value + 1);
  EXPECT_FALSE(plan.buffers.back().on_host);
  EXPECT_EQ(build.buffer_on_host("h", BufferRole::shard, DType::bf16, 3).value, main.value + 2);
  EXPECT_TRUE(plan.buffers.back().on_host);
  EXPECT_EQ(build.event().value, 0);
  EXPECT_EQ(build.event().value, 1);
  EXPECT_EQ(plan.events, 2);
}

}  // namespace
}  // namespace shardcheck
