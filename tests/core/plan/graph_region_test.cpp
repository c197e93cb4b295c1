#include "core/plan/graph_region.h"

#include <gtest/gtest.h>

#include "core/plan/builder.h"

namespace shardcheck {
namespace {

struct Region : testing::Test {
  void op(Action action, Stream stream = Stream::graph) { build.op(action, {}, stream, ranks); }
  std::string reason_at(std::int32_t begin) {
    const auto region = region_at(plan, OpIndex{begin});
    return region ? why_not_captured(plan, *region) : "no region";
  }

  std::vector<Rank> ranks = {Rank{0}};
  Plan plan;
  PlanBuilder build{plan};
};

TEST_F(Region, IsWhatStandsBetweenItsMarks) {
  op(Fill{});
  op(BeginGraph{GraphId{7}});
  op(Gemm{});
  op(EndGraph{});
  op(Fill{});
  EXPECT_FALSE(region_at(plan, OpIndex{0})) << "no mark";
  const auto region = region_at(plan, OpIndex{1});
  ASSERT_TRUE(region);
  EXPECT_EQ(region->graph, GraphId{7});
  EXPECT_EQ(region->first, 2);
  EXPECT_EQ(region->end, 3);
  EXPECT_EQ(why_not_captured(plan, *region), "");
}

TEST_F(Region, EndsOnItsStreamBeforeTheNextBegins) {
  op(BeginGraph{GraphId{0}});
  op(EndGraph{}, Stream::compute);
  op(BeginGraph{GraphId{1}});
  op(EndGraph{});
  EXPECT_FALSE(region_at(plan, OpIndex{0}));
  EXPECT_TRUE(region_at(plan, OpIndex{2}));
  op(BeginGraph{GraphId{2}});
  EXPECT_FALSE(region_at(plan, OpIndex{4})) << "the plan ends in it";
}

TEST_F(Region, HoldsWorkOfItsStreamAlone) {
  op(BeginGraph{GraphId{0}});
  for (const Action& work :
       {Action(Gemm{}), Action(Copy{}), Action(Add{}), Action(Fill{}), Action(Undefine{})})
    op(work);
  op(EndGraph{});
  EXPECT_EQ(reason_at(0), "");
  for (const Action& other : {Action(Record{}), Action(Wait{}), Action(Communicate{}), Action(Allocate{})}) {
    plan.ops[3].action = other;
    EXPECT_EQ(reason_at(0),
              "op 3 inside it is no work that is captured (" + describe(plan, plan.ops[3]) + ")");
  }
  plan.ops[3].action = Add{};
  plan.ops[3].stream = Stream::compute;
  EXPECT_EQ(reason_at(0), "op 3 inside it is of another stream");
}

TEST(SameAction, MeansEveryField) {
  EXPECT_TRUE(is_same_action(Gemm{1, 2, 3, true}, Gemm{1, 2, 3, true}));
  EXPECT_FALSE(is_same_action(Gemm{1, 2, 3, true}, Gemm{1, 2, 3, false})) << "another beta";
  EXPECT_FALSE(is_same_action(Gemm{1, 2, 3, true}, Gemm{0, 2, 3, true})) << "another number of tokens";
  EXPECT_TRUE(is_same_action(Copy{}, Copy{}));
  EXPECT_FALSE(is_same_action(Copy{}, Add{}));
  EXPECT_FALSE(is_same_action(Fill{0}, Fill{1}));
}

}  // namespace
}  // namespace shardcheck
