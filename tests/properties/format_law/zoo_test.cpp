// Every faulty machine is caught on its own case, by exactly the law that it names where one number can be
// wrong by itself, and ours keeps every law there.
#include "properties/format_law/zoo.h"

#include <gtest/gtest.h>

#include <set>

#include "backends/cpu/cpu_backend.h"
#include "properties/format_law/format_property.h"

namespace shardcheck {
namespace {

using Clauses = std::set<std::string>;

Clauses broken(const FormatCase& c) {
  const auto backend = make_cpu_backend(kIdeal);
  Clauses clauses;
  for (const Finding& finding : judge_format_case(*backend, CastNumbers(c)).findings)
    clauses.insert(finding.clause);
  return clauses;
}

TEST(FormatZoo, EveryFaultBreaksExactlyItsLaw) {
  std::set<std::string_view> laws;
  for (const FormatFault& fault : format_zoo()) {
    SCOPED_TRACE(fault.id);
    laws.insert(fault.law);
    EXPECT_EQ(find_format_fault(fault.id), &fault);
    FormatCase c = case_of(fault);
    Clauses expected{std::string(fault.law)};
    // A code that is read as zero has no reciprocal.
    if (fault.id == "M9") expected.insert("F1");
    EXPECT_EQ(broken(c), expected);
    c.fault.clear();
    EXPECT_EQ(broken(c), Clauses{});
  }
  EXPECT_EQ(laws, (std::set<std::string_view>{"F1", "F2", "F4", "F5", "F6", "F9", "F10", "F11", "F13", "F14",
                                              "F15", "F16", "F17"}));
}

TEST(FormatZoo, RandomCasesWithAFaultInThemFindIt) {
  for (const FormatFault& fault : format_zoo()) {
    SCOPED_TRACE(fault.id);
    bool is_caught = false;
    for (std::uint64_t number = 0; number < 4000 && !is_caught; ++number) {
      const auto drawn = format_kind().draw({.seed = 3, .number = number});
      FormatCase c = static_cast<const CastNumbers&>(*drawn).value();
      if (c.format != fault.format || c.policy != fault.policy) continue;
      c.fault = fault.id;
      is_caught = broken(c).contains(std::string(fault.law));
    }
    EXPECT_TRUE(is_caught);
  }
}

}  // namespace
}  // namespace shardcheck
