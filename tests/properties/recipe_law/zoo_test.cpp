// Every faulty quantiser is caught by the law that it names, and ours keeps every law on the same cases.
#include "properties/recipe_law/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/cpu/cpu_backend.h"
#include "properties/recipe_law/recipe_property.h"

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
    bool is_caught = false;
    for (int family = 0; family < 5; ++family) {
      RecipeCase c{.recipe = std::string(fault.recipe),
                   .rows = 3,
                   .columns = 300,
                   .numbers = static_cast<MasterFamily>(family),
                   .seed = 4};
      if (fault.law == "F33") c.rows = 130;                           // a grid of 2 x 3
      if (fault.law == "F26" && family == 4) c.rows = c.columns = 1;  // one number, and it is zero
      EXPECT_EQ(broken(c), std::set<std::string>{});
      c.fault = fault.id;
      is_caught = is_caught || broken(c).contains(std::string(fault.law));
    }
    EXPECT_TRUE(is_caught);
  }
  EXPECT_EQ(laws,
            (std::set<std::string_view>{"F23", "F25", "F26", "F28", "F30", "F31", "F32", "F33", "F34"}));
}

}  // namespace
}  // namespace shardcheck
