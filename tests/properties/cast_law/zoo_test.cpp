// Every faulty cast is caught on its own case by exactly the law that it names, and ours keeps every law
// there.
#include "properties/cast_law/zoo.h"

#include <gtest/gtest.h>

#include <set>

#include "backends/cpu/cpu_backend.h"

namespace shardcheck {
namespace {

using Clauses = std::set<std::string>;

Clauses broken(const CastCase& c) {
  const auto backend = make_cpu_backend(kIdeal);
  Clauses clauses;
  for (const Finding& finding : judge_cast(*backend, CastOfInputs(c)).findings)
    clauses.insert(finding.clause);
  return clauses;
}

TEST(CastZoo, EveryFaultBreaksExactlyItsLaw) {
  std::set<std::string_view> laws;
  for (const CastFault& fault : cast_zoo()) {
    SCOPED_TRACE(fault.id);
    laws.insert(fault.law);
    EXPECT_EQ(find_cast_fault(fault.id), &fault);
    CastCase c = case_of(fault);
    EXPECT_EQ(broken(c), Clauses{std::string(fault.law)});
    c.fault.clear();
    EXPECT_EQ(broken(c), Clauses{});
  }
  EXPECT_EQ(laws, (std::set<std::string_view>{"F3", "F7", "F8", "F12"}));
}

TEST(CastZoo, AFaultThatIsNoneIsRefused) {
  EXPECT_THROW(cast_kind().read(R"({"kind": "cast", "inputs": [1], "fault": "Q0"})", "c.json"),
               std::exception);
}

}  // namespace
}  // namespace shardcheck
