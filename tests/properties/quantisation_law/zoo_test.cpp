// Every fault of the zoo is caught by the law that it names, on its smallest case, and the same case without
// the fault keeps every law.
#include "properties/quantisation_law/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace shardcheck {
namespace {

TEST(QuantisationZoo, EveryFaultIsCaughtByItsLaw) {
  for (const QuantisationFault& fault : quantisation_zoo()) {
    SCOPED_TRACE(fault.id);
    const recipe::ShardedCall call = call_of(fault.smallest());
    EXPECT_TRUE(judge_sharded(call, nullptr).empty());
    const auto findings = judge_sharded(call, fault.corrupt);
    std::string seen;
    for (const Finding& finding : findings) seen += finding.clause + ": " + finding.sentence + "\n";
    EXPECT_TRUE(std::ranges::any_of(findings, [&](const Finding& f) { return f.clause == fault.law; }))
        << seen;
    EXPECT_EQ(find_quantisation_fault(fault.id), &fault);
  }
}

TEST(QuantisationZoo, EveryLawHasAFault) {
  std::set<std::string_view> laws;
  for (const QuantisationFault& fault : quantisation_zoo()) laws.insert(fault.law);
  EXPECT_EQ(laws, (std::set<std::string_view>{"F40", "F41", "F42", "F43", "F44", "F45", "F46", "F47", "F48",
                                              "F49"}));
}

}  // namespace
}  // namespace shardcheck
