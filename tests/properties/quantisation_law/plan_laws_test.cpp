// Laws of the plan alone: a right plan keeps them, and each is broken by one change.
#include "properties/quantisation_law/plan_laws.h"

#include <gtest/gtest.h>

#include "properties/quantisation_law/quantisation_case.h"

namespace shardcheck {
namespace {

recipe::ShardedCall three_ranks() {
  QuantisationCase c{.recipe = "te-current", .world = 3};
  c.weights = {{.rows = 2, .columns = 3, .cuts = {2, 2}}, {.rows = 1, .columns = 4, .cuts = {1, 2}}};
  return call_of(c);
}

std::vector<std::string> broken(const recipe::ShardedCall& call, const recipe::ShardedPlan& plan) {
  std::vector<Finding> findings;
  judge_plan(call, plan, findings);
  std::vector<std::string> clauses;
  for (const Finding& finding : findings) clauses.push_back(finding.clause);
  return clauses;
}

TEST(PlanLaws, ARightPlanKeepsThemAndEachIsBrokenByOneChange) {
  const recipe::ShardedCall call = three_ranks();
  const recipe::ShardedPlan right = plan_sharded(call);
  EXPECT_TRUE(broken(call, right).empty());
  const auto after = [&](auto change) {
    recipe::ShardedPlan plan = right;
    change(plan);
    return broken(call, plan);
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(after([](recipe::ShardedPlan& p) { p.schedules[2][1].length = 7; }), List{"F45"});
  EXPECT_EQ(after([](recipe::ShardedPlan& p) { std::swap(p.schedules[1][2], p.schedules[1][3]); }),
            List{"F46"});
  EXPECT_EQ(after([](recipe::ShardedPlan& p) {
              for (auto& schedule : p.schedules) schedule[1].group = 2;
            }),
            List{"F48"});
  EXPECT_EQ(after([](recipe::ShardedPlan& p) { p.weights[0].parts[1].sent = {{0, 1}}; }), List{"F42"});
}

}  // namespace
}  // namespace shardcheck
