// Faults of FP8 weights are caught on the plan: the first finding names the clause of the entry, and without
// the fault there is none.
#pragma once

#include "core/contract/monitor.h"
#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {

inline void expect_shown_by_plan(void (*add)(std::vector<Fault>&)) {
  std::vector<Fault> faults;
  add(faults);
  for (const Fault& fault : faults) {
    for (int i = 0; i < kStrategies; ++i) {
      const Scenario s = prepared(fault, two_weights(static_cast<Strategy>(i)));
      Planned planned = plan_of(s);
      EXPECT_TRUE(judge(planned.plan).empty()) << fault.id << " on " << describe(s);
      ASSERT_TRUE(fault.rewrite(planned, s)) << fault.id << " on " << describe(s);
      const auto findings = judge(planned.plan);
      ASSERT_FALSE(findings.empty()) << fault.id << " on " << describe(s);
      EXPECT_EQ(findings.front().clause, fault.clause) << fault.id << ": " << findings.front().sentence;
      EXPECT_FALSE(findings.front().sentence.empty());
    }
  }
}

}  // namespace shardcheck::tests
