// What the monitor reports of a breach: once, with its place, in the order of the ops, and never about
// padding.
#include "core/contract/monitor.h"

#include <gtest/gtest.h>

#include "tests/core/contract/tiny_plan.h"

namespace shardcheck::tests {
namespace {

TEST(Monitor, ABreachNamesOpRankParameterAndElement) {
  TinyPlan p;
  p.fill(p.main);
  p.write(0, p.main);
  const auto findings = judge(p.plan);
  ASSERT_EQ(findings.size(), 2u) << "one a rank";
  for (int rank : {0, 1}) {
    const Finding& f = findings[static_cast<std::size_t>(rank)];
    EXPECT_EQ(f.clause, "W4");
    EXPECT_EQ(f.rank, rank);
    EXPECT_EQ(f.op.value, static_cast<std::int32_t>(p.plan.ops.size()) - 1);
    EXPECT_EQ(f.op_text, describe(p.plan, p.plan.ops.back()));
    EXPECT_EQ(f.stream, "compute");
    EXPECT_EQ(f.parameter_name, "w");
    EXPECT_EQ(f.element, 0);
  }
}

TEST(Monitor, WhatFollowsInTheSameBytesIsNotReported) {
  TinyPlan p;
  p.ranks = {Rank{0}};
  p.fill(p.main);
  p.write(0, p.main);
  p.write(0, p.main);
  p.zero(p.all(p.main));
  EXPECT_EQ(judge(p.plan).size(), 1u);
  p.begin_step();
  p.write(1, p.main);
  p.zero(p.all(p.main));
  EXPECT_EQ(judge(p.plan).size(), 2u) << "a new step is judged afresh";
}

TEST(Monitor, BreachesComeInTheOrderOfTheOpsAndAtMostSixteen) {
  TinyPlan p;
  for (int step = 0; step < 20; ++step) {
    p.begin_step();
    p.zero(p.all(p.main));
    p.write(1, p.main);
    p.write(0, p.main);
  }
  const auto findings = judge(p.plan);
  ASSERT_EQ(findings.size(), 16u);
  for (std::size_t i = 1; i < findings.size(); ++i) EXPECT_LE(findings[i - 1].op, findings[i].op);
}

TEST(Monitor, NoClauseSpeaksOfPadding) {
  TinyPlan p;
  p.op(Fill{0}, Purpose::zero).on(p.of_w(p.main));  // w alone: the padding stays undefined
  p.all_reduce(p.main);
  p.finish(p.main);
  p.consume(p.main);
  EXPECT_EQ(broken(p.plan), "");
  // Broken in w and, in the same way, in the padding behind it.
  const Row rows[] = {
      {"W27", [](TinyPlan& t) { t.reduce(t.main), t.all_reduce(t.main); }, "W27"},
      {"W28", [](TinyPlan& t) { t.fill(t.main), t.reduce_scatter(t.main), t.finish(t.main); }, "W28"},
      {"W6", [](TinyPlan& t) { t.reduce(t.main), t.zero(t.all(t.main)); }, "W6"},
      {"W22",
       [](TinyPlan& t) {
         t.fill(t.main), t.order(kCompute, kReduce), t.all_reduce(t.main, kReduce), t.zero(t.all(t.main));
       },
       "W22"},
  };
  for (const Row& row : rows) {
    TinyPlan tiny;
    row.ops(tiny);
    const auto findings = judge(tiny.plan);
    EXPECT_FALSE(findings.empty());
    for (const Finding& f : findings) {
      EXPECT_EQ(f.clause, row.clause);
      EXPECT_EQ(f.parameter_name, "w") << row.name << ": " << f.op_text;
    }
  }
}

TEST(Monitor, TheExecutedOrderIsJudged) {
  TinyPlan p;
  p.order(kCompute, kReduce);
  p.fill(p.main);
  const auto wait = static_cast<std::int32_t>(p.plan.ops.size());
  p.order(kCompute, kReduce);
  p.all_reduce(p.main, kReduce);
  std::vector<OpIndex> order;
  for (std::int32_t i = 0; i < std::ssize(p.plan.ops); ++i) order.push_back(OpIndex{i});
  EXPECT_TRUE(judge(p.plan, order).empty());
  // The event is recorded before the write that it should cover.
  std::rotate(order.begin() + wait - 1, order.begin() + wait, order.begin() + wait + 1);
  const auto findings = judge(p.plan, order);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().clause, "W21");
}

TEST(Monitor, NothingIsBrokenByAnEmptyPlan) {
  EXPECT_TRUE(judge(Plan{}).empty());
}

}  // namespace
}  // namespace shardcheck::tests
