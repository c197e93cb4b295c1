// Every faulty quantiser is caught on its own case by the law that it names, and ours keeps every law there.
#include "properties/recipe_law/zoo.h"

#include <gtest/gtest.h>

#include <set>

#include "backends/cpu/cpu_backend.h"

namespace shardcheck {
namespace {

std::set<std::string> broken(const RecipeCase& c) {
  const auto backend = make_cpu_backend(kIdeal);
  std::set<std::string> clauses;
  for (const Finding& finding : judge_recipe_case(*backend, QuantisedMatrix(c)).findings)
    clauses.insert(finding.clause);
  return clauses;
}

TEST(RecipeZoo, EveryFaultIsCaughtByItsLaw) {
  std::set<std::string_view> laws;
  for (const RecipeFault& fault : recipe_zoo()) {
    SCOPED_TRACE(fault.id);
    laws.insert(fault.law);
    EXPECT_EQ(find_recipe_fault(fault.id), &fault);
    RecipeCase c = case_of(fault);
    EXPECT_TRUE(broken(c).contains(std::string(fault.law)));
    c.fault.clear();
    EXPECT_EQ(broken(c), std::set<std::string>{});
  }
  EXPECT_EQ(laws,
            (std::set<std::string_view>{"F23", "F25", "F26", "F28", "F30", "F31", "F32", "F33", "F34"}));
}

}  // namespace
}  // namespace shardcheck
