// Every bug has a name of its own; rows of the specification's catalogue keep their numbers; and each that
// comes with a case is caught on it by the law that it names, by the property of its zoo.
#include "tools/shardcheck/zoo_bugs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/cpu/cpu_backend.h"
#include "properties/runner.h"

namespace shardcheck {
namespace {

TEST(ZooBugs, NamesAreUniqueAndRowsOfTheCatalogueAreThere) {
  std::set<std::string> ids, rows;
  for (const Bug& bug : all_bugs()) {
    EXPECT_TRUE(ids.insert(bug.id).second) << bug.id;
    if (is_of_fp8(bug) && bug.source == "fp8 7") rows.insert(bug.id.substr(bug.id.find('/') + 1, 3));
  }
  for (int row = 1; row <= 60; ++row) {
    const std::string id = "Q" + std::string(row < 10 ? "0" : "") + std::to_string(row);
    const bool is_of_life_cycle = row == 33 || row == 37 || (row >= 39 && row <= 45) || row == 54;
    if (!is_of_life_cycle) {
      EXPECT_TRUE(rows.contains(id)) << id;
    }
  }
}

TEST(ZooBugs, EveryOneWithACaseIsCaughtOnIt) {
  const auto backend = make_cpu_backend(kIdeal);
  for (const Bug& bug : all_bugs()) {
    if (!is_of_fp8(bug)) continue;
    ASSERT_NE(bug.property, nullptr) << bug.id;
    const auto c = bug.own_case();
    const auto findings = judge(*bug.property, *backend, *c).findings;
    ASSERT_FALSE(findings.empty()) << bug.id;
    EXPECT_EQ(findings.front().clause, bug.clause) << bug.id;
    EXPECT_EQ(bug.property->kind->read(c->json(), bug.id)->json(), c->json());
  }
}

}  // namespace
}  // namespace shardcheck
