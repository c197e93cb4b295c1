#include "core/contract/reporter.h"

#include <gtest/gtest.h>

#include "tests/core/contract/tiny_plan.h"

namespace shardcheck::tests {
namespace {

TEST(Reporter, NamesTheElementOfAPersistentBuffer) {
  const TinyPlan p;
  const Reporter reporter(p.plan);
  const auto place = reporter.place(Rank{1}, p.main, 2);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->parameter, TinyPlan::w);
  EXPECT_EQ(place->element, 2);
  EXPECT_FALSE(reporter.place(Rank{1}, p.main, 4)) << "padding";
}

TEST(Reporter, NamesTheElementOfAShardByItsRank) {
  const TinyPlan p;
  const Reporter reporter(p.plan);
  EXPECT_EQ(reporter.place(Rank{0}, p.shard, 0)->element, 0);
  EXPECT_EQ(reporter.place(Rank{1}, p.shard, 0)->element, 3);
  EXPECT_FALSE(reporter.place(Rank{1}, p.shard, 1)) << "padding of rank 1";
}

TEST(Reporter, NamesAllParametersOfAView) {
  TinyPlan p;
  p.plan.placements.push_back({TinyPlan::frozen, Rank{-1}, {p.main, 4, 2}, 7});
  Reporter reporter(p.plan);
  const auto text = [&](Rank rank, View view) {
    std::string all;
    for (const Reporter::Place& place : reporter.places(rank, view))
      all += std::to_string(place.parameter.value) + "[" + std::to_string(place.element) + "] ";
    return all;
  };
  EXPECT_EQ(text(Rank{0}, p.all(p.main)), "0[0] 1[7] ");
  EXPECT_EQ(text(Rank{0}, {p.main, 2, 3}), "0[2] 1[7] ");
  EXPECT_EQ(text(Rank{1}, p.all(p.shard)), "0[3] ") << "of its own rank";
  EXPECT_EQ(text(Rank{0}, p.all(p.slot)), "") << "never lent";
  reporter.open_lease(0, {p.slot, 1, 5});
  EXPECT_EQ(text(Rank{0}, {p.slot, 2, 4}), "0[1] ");
}

TEST(Reporter, ASlotBelongsToTheLeaseThatWasOpenedLast) {
  TinyPlan p;
  p.plan.buckets.push_back({{TinyPlan::frozen, Rank{-1}, {BufferId{-1}, 1, 2}, 0}});
  Reporter reporter(p.plan);
  EXPECT_FALSE(reporter.place(Rank{0}, p.slot, 1)) << "never lent";
  reporter.open_lease(0, p.all(p.slot));
  EXPECT_EQ(reporter.place(Rank{0}, p.slot, 1)->parameter, TinyPlan::w);
  reporter.open_lease(1, {p.slot, 1, 3});
  EXPECT_EQ(reporter.place(Rank{0}, p.slot, 2)->parameter, TinyPlan::frozen);
  EXPECT_EQ(reporter.place(Rank{0}, p.slot, 2)->element, 0);
}

TEST(Reporter, AFindingWithoutAPlaceIsNamedAfterTheOp) {
  TinyPlan p;
  p.fold(true, p.main);
  Reporter reporter(p.plan);
  reporter.begin_op(OpIndex{static_cast<std::int32_t>(p.plan.ops.size()) - 1});
  reporter.report("W14", Rank{1}, std::nullopt, "a sentence");
  const auto findings = reporter.take();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].parameter_name, "w");
  EXPECT_EQ(findings[0].rank, 1);
  EXPECT_EQ(findings[0].sentence, "a sentence");
}

}  // namespace
}  // namespace shardcheck::tests
