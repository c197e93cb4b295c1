// One op a rank, with its own views, and collectives as they were.
#include "core/plan/rank_by_rank.h"

#include <gtest/gtest.h>

#include "core/plan/builder.h"
#include "core/plan/explore.h"
#include "core/plan/races.h"

namespace shardcheck {
namespace {

TEST(RankByRank, EveryOpButACollectiveHasOneRank) {
  Plan plan{.ranks = 2};
  PlanBuilder build(plan);
  const std::vector<Rank> both{Rank{0}, Rank{1}}, one{Rank{1}};
  const BufferId b = build.buffer("b", BufferRole::main_grad, DType::f32, 4);
  build.op(Copy{}, {}, Stream::reduce, both)
      .on_each([&](std::int32_t i) {
        return View{b, i, 1};
      })
      .on({b, 3, 1});
  build.op(Communicate{.group = 2}, {}, Stream::compute, both).on({b, 0, 4}).on({b, 0, 4});
  build.op(Fill{1}, {}, Stream::compute, one).on({b, 2, 1});
  const RankByRank split = rank_by_rank(plan);
  const std::vector<OpIndex> begins{OpIndex{0}, OpIndex{2}, OpIndex{3}, OpIndex{4}};
  EXPECT_EQ(split.begins, begins);
  ASSERT_EQ(split.plan.ops.size(), 4u);
  for (std::int32_t i = 0; i < 2; ++i) {
    const Op& op = split.plan.ops[static_cast<std::size_t>(i)];
    EXPECT_EQ(op.stream, Stream::reduce);
    ASSERT_EQ(op.ranks, 1);
    EXPECT_EQ(split.plan.ranks_of(op)[0], Rank{i});
    EXPECT_EQ(split.plan.operand(op, 0)[0], (View{b, i, 1}));
    EXPECT_EQ(split.plan.operand(op, 1)[0], (View{b, 3, 1}));
  }
  EXPECT_EQ(split.plan.ops[2].ranks, 2);
  EXPECT_EQ(split.plan.ranks_of(split.plan.ops[3])[0], Rank{1});
}

/// Rank 1 waits and rank 0 does not: as whole ops the two are ordered.
TEST(RankByRank, ARaceOfOneRankHasSchedulesOnlyThere) {
  Plan plan{.ranks = 2};
  PlanBuilder build(plan);
  const std::vector<Rank> both{Rank{0}, Rank{1}}, one{Rank{1}};
  const View b{build.buffer("b", BufferRole::main_grad, DType::f32, 4), 0, 4};
  const EventId event = build.event();
  build.op(Fill{1}, {}, Stream::compute, both).on(b);
  build.op(Record{event}, {}, Stream::compute, one);
  build.op(Wait{event}, {}, Stream::reduce, one);
  build.op(Fill{2}, {}, Stream::reduce, both).on(b);
  ASSERT_EQ(races_of(plan).size(), 1u);
  const auto classes = [](const Plan& of) { return explore(of, 100, [](const ScheduleClass&) {}).classes; };
  EXPECT_EQ(classes(plan), 1);
  EXPECT_EQ(classes(rank_by_rank(plan).plan), 2);
}

}  // namespace
}  // namespace shardcheck
