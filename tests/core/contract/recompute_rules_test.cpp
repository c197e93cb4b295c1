// W37: what a recomputation may do, and what breaks its neutrality.
#include "core/contract/recompute_rules.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/core/contract/tiny_plan.h"

namespace shardcheck::tests {
namespace {

/// The sentences of W37 for ops inside a recomputation, or behind it.
std::vector<std::string> sentences(const std::function<void(TinyPlan&)>& ops, bool inside) {
  TinyPlan tiny;
  tiny.op(BeginRecompute{0}, Purpose::none);
  if (inside) ops(tiny);
  tiny.op(EndRecompute{}, Purpose::none);
  if (!inside) ops(tiny);
  std::vector<std::string> said;
  Reporter reporter(tiny.plan);
  RecomputeRules rules(tiny.plan, reporter);
  for (std::int32_t i = 0; i < std::ssize(tiny.plan.ops); ++i) {
    reporter.begin_op(OpIndex{i});
    rules.apply(tiny.plan.ops[static_cast<std::size_t>(i)]);
  }
  for (const Finding& finding : reporter.take()) {
    EXPECT_EQ(finding.clause, "W37");
    if (finding.rank == 0) said.push_back(finding.sentence);
  }
  return said;
}

TEST(RecomputeRules, NothingOfTheProtocolHappensInside) {
  const std::pair<std::string, std::function<void(TinyPlan&)>> rows[] = {
      {"recomputation counts as a use and writes a gradient", [](TinyPlan& p) { p.write(0, p.main); }},
      {"recomputation opens a lease", [](TinyPlan& p) { p.open(); }},
      {"recomputation fetches a gradient destination",
       [](TinyPlan& p) { p.op(Acquire{}, Purpose::none).on(p.all(p.slot)); }},
      {"recomputation raises the flag of a contribution",
       [](TinyPlan& p) { p.op(Flag{true}, Purpose::none, kCompute, p.w); }},
      {"recomputation hands a gradient to autograd",
       [](TinyPlan& p) { p.op(Return{Returned::dummy}, Purpose::none, kCompute, p.w); }},
      {"recomputation runs the owner's hook",
       [](TinyPlan& p) { p.op(Hook{HookAction::drop}, Purpose::none, kCompute, p.w); }},
      {"recomputation counts the parameter as ready",
       [](TinyPlan& p) { p.op(Ready{}, Purpose::none, kCompute, p.w); }},
      {"recomputation zeroes or reduces gradients", [](TinyPlan& p) { p.zero(p.all(p.main)); }},
  };
  for (const auto& [sentence, ops] : rows) {
    EXPECT_EQ(sentences(ops, true), std::vector<std::string>{sentence});
    EXPECT_TRUE(sentences(ops, false).empty()) << sentence;
  }
}

TEST(RecomputeRules, ALeaseIsNamedByWhatLiesInIt) {
  TinyPlan tiny;
  tiny.op(BeginRecompute{0}, Purpose::none);
  tiny.open();
  const std::vector<Finding> findings = judge(tiny.plan);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().clause, "W37");
  EXPECT_EQ(findings.front().parameter_name, "w");
}

TEST(RecomputeRules, AnUnshardMayLowerAFlag) {
  EXPECT_TRUE(sentences([](TinyPlan& p) { p.op(Flag{false}, Purpose::none, kCompute, p.w); }, true).empty());
}

}  // namespace
}  // namespace shardcheck::tests
