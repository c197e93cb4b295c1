// Single changes of a plan that mend a life cycle: what was moved goes back, what is spare goes, what is
// missing comes again, and a stream waits.
#include "properties/diagnosis/plan_repairs.h"

#include <gtest/gtest.h>

#include "backends/registry.h"
#include "core/contract/monitor.h"
#include "properties/diagnosis/diagnosis.h"
#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

/// The smallest of the prepared scenarios with the fault in it: one parameter, as few steps as show it.
Scenario smallest(std::string_view id, std::int32_t steps) {
  const Fault* fault = find_fault(id);
  SC_ASSERT(fault != nullptr, "a fault that is not in the zoo");
  Scenario s = base(Strategy::fsdp_optim);
  fault->prepare(s);
  s.steps = steps;
  s.microbatches = 1;
  prepare::repair(s);
  s.fault = std::string(id);
  return s;
}

struct Mended {
  std::string_view id, by;
  std::int32_t steps = 1;
};

TEST(PlanRepairs, NameTheOpThatMendsThePlan) {
  for (const Mended& row : {Mended{"Q36", "with op "}, Mended{"M-F46", "with a wait of op "},
                            Mended{"Q38", "(derive the column copy", 2}, Mended{"Q43", "without op ", 2}}) {
    const Scenario s = smallest(row.id, row.steps);
    Planned planned = plan_of(s);
    ASSERT_TRUE(apply_fault(planned, s)) << row.id;
    const auto findings = judge(planned.plan);
    ASSERT_FALSE(findings.empty()) << row.id;
    const auto repairs = plan_repairs(planned.plan, findings.front());
    ASSERT_FALSE(repairs.empty()) << row.id << ": " << findings.front().sentence;
    EXPECT_NE(repairs.front().find(row.by), std::string::npos) << row.id << ": " << repairs.front();
    EXPECT_TRUE(repairs.front().ends_with(" the plan holds")) << row.id << ": " << repairs.front();
  }
}

TEST(PlanRepairs, AFindingWithoutAnOpHasNone) {
  const Planned planned = plan_of(base(Strategy::fsdp_optim));
  EXPECT_TRUE(plan_repairs(planned.plan, Finding{.clause = "F50"}).empty());
}

TEST(PlanRepairs, ADiagnosisTellsTheHistoryOfTheWeight) {
  const Scenario s = smallest("Q38", 2);
  Planned planned = plan_of(s);
  ASSERT_TRUE(apply_fault(planned, s));
  const auto backend = make_backend("cpu", {"ideal"});
  const Diagnosis diagnosis = diagnose(s, judge(planned.plan).front(), *backend);
  ASSERT_GT(diagnosis.finding.history.size(), 3u);
  EXPECT_NE(diagnosis.finding.history[0].find("codes and scales of version 0"), std::string::npos)
      << diagnosis.finding.history[0];
  EXPECT_TRUE(diagnosis.finding.history.back().ends_with("[first wrong]"));
  ASSERT_FALSE(diagnosis.counterfactuals.empty());
  EXPECT_TRUE(diagnosis.counterfactuals.front().mends);
  EXPECT_TRUE(diagnosis.counterfactuals.front().change.ends_with(" the plan holds"));
}

}  // namespace
}  // namespace shardcheck::tests
