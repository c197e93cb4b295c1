// What each fault of this kind takes from the plan and brings into it, on two weights, of which the first is
// distributed over two of four ranks; and the clause that it breaks first.
#include <gtest/gtest.h>

#include "core/contract/monitor.h"
#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(DistributedFaults, RewriteThePlan) {
  expect_rewrites(add_distributed_faults, {
                                              {"B-19", "+4 dummy= +4 fold+ +4 hook+ +4 undefine "},
                                              {"B-39-gtp", "-4 RS-avg@r +4 RS@r "},
                                              {"M-W20-gtp", ""},
                                              {"M-W21-gtp", "-2 acc+ "},
                                              {"M-W23-gtp", "-4 wait "},
                                              {"M-W27-gtp", "+4 RS-avg@r "},
                                              {"M-W4-gtp", "-4 write0 +4 write1 "},
                                          });
}

TEST(DistributedFaults, BreakTheirClauseFirst) {
  std::vector<Fault> faults;
  add_distributed_faults(faults);
  for (const Fault& fault : faults) {
    if (fault.clause == "W24") continue;  // a value, which no plan shows
    const auto findings = judge(rewritten(fault.id));
    ASSERT_FALSE(findings.empty()) << fault.id;
    EXPECT_EQ(findings.front().clause, fault.clause) << findings.front().sentence;
  }
}

}  // namespace
}  // namespace shardcheck::tests
