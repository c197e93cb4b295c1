// Every faulty machine is caught on its own case by the law that it names, and by few others; ours keeps
// every law there.
#include "properties/scale_law/zoo.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "backends/cpu/cpu_backend.h"
#include "properties/scale_law/scale_property.h"

namespace shardcheck {
namespace {

using Clauses = std::set<std::string>;

Clauses broken(const ScaleCase& c) {
  const auto backend = make_cpu_backend(kIdeal);
  Clauses clauses;
  for (const Finding& finding : judge_scale_case(*backend, ScaledMatrix(c)).findings)
    clauses.insert(finding.clause);
  return clauses;
}

/// What must break with a fault besides its law: a wrong scale is not its formula's, what is no maximum is
/// none with a NaN, and numbers that come back wrong do not survive another pass.
const std::map<std::string_view, Clauses> kImplied = {
    {"Q11", {"F20"}},       {"Q12", {"F24"}}, {"Q13", {"F20", "F24"}}, {"Q14", {"F24"}},
    {"Q23", {"F37"}},       {"Q26", {"F19"}}, {"Q27", {"F24", "F29"}}, {"Q48", {"F20"}},
    {"M1", {"F19"}},        {"M5", {"F24"}},  {"M6", {"F29", "F38"}},  {"M7", {"F29"}},
    {"M8", {"F24", "F29"}}, {"M9", {"F39"}},
};

TEST(ScaleZoo, EveryFaultBreaksItsLaw) {
  std::set<std::string_view> laws;
  for (const ScaleFault& fault : scale_zoo()) {
    SCOPED_TRACE(fault.id);
    laws.insert(fault.law);
    EXPECT_EQ(find_scale_fault(fault.id), &fault);
    ScaleCase c = case_of(fault);
    Clauses expected{std::string(fault.law)};
    const auto implied = kImplied.find(fault.id);
    if (implied != kImplied.end()) expected.insert(implied->second.begin(), implied->second.end());
    EXPECT_EQ(broken(c), expected);
    c.fault.clear();
    EXPECT_EQ(broken(c), Clauses{});
  }
  EXPECT_EQ(laws, (std::set<std::string_view>{"F17", "F18", "F19", "F20", "F21", "F22", "F24", "F27", "F29",
                                              "F35", "F36", "F37", "F38", "F39"}));
}

}  // namespace
}  // namespace shardcheck
