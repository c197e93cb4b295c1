// Every fault of the zoo: the plan without it breaks nothing, the plan with it is caught by its clause.
#include "sim/faults/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/registry.h"
#include "core/contract/clauses.h"
#include "properties/property.h"
#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

class Zoo : public ::testing::TestWithParam<Fault> {};

std::string shown(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings) text += f.clause + ": " + f.sentence + " (" + f.op_text + ")\n";
  return text;
}

TEST_P(Zoo, IsCaughtByItsClauseAndOnlyWhenItIsThere) {
  const Fault& fault = GetParam();
  const Property* property = property_of_clause(fault.clause);
  ASSERT_NE(property, nullptr) << fault.clause;
  const auto backend = make_backend("cpu", {"ideal"});
  for (int i = 0; i < kStrategies; ++i) {
    for (const std::int32_t slots : {1, 2}) {
      Scenario begin = two_weights(static_cast<Strategy>(i));
      begin.slots = slots;
      Scenario s = prepared(fault, begin);
      EXPECT_EQ(shown(property->check(*backend, s)), "") << "without the fault: " << describe(s);
      s.fault = fault.id;
      Planned planned = plan_of(s);
      ASSERT_TRUE(apply_fault(planned, s)) << "nothing to break: " << describe(s);
      const auto findings = property->check(*backend, s);
      EXPECT_TRUE(std::ranges::any_of(findings, [&](const Finding& f) { return f.clause == fault.clause; }))
          << describe(s) << "\n"
          << shown(findings);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, Zoo, ::testing::ValuesIn(zoo()), [](const auto& info) {
  std::string name(info.param.id);
  std::erase(name, '-');
  return name;
});

TEST(ZooTable, IdsAreUniqueAndSorted) {
  for (std::size_t i = 1; i < zoo().size(); ++i) EXPECT_LT(zoo()[i - 1].id, zoo()[i].id);
  for (const Fault& fault : zoo()) EXPECT_EQ(find_fault(fault.id), &fault);
  EXPECT_EQ(find_fault(""), nullptr);
  EXPECT_EQ(find_fault("B-0"), nullptr);
}

TEST(ZooTable, ClausesFaultsAndPropertiesCoverEachOther) {
  std::set<std::string_view> of_faults, of_properties;
  for (const Fault& fault : zoo()) {
    EXPECT_NE(find_clause(fault.clause), nullptr) << fault.id;
    EXPECT_NE(property_of_clause(fault.clause), nullptr) << fault.id << " is caught by no property";
    EXPECT_FALSE(fault.source.empty() || fault.sentence.empty()) << fault.id;
    of_faults.insert(fault.clause);
  }
  for (const Property& property : properties()) {
    if (property.kind != nullptr) continue;  // laws of layouts, casts and shards have zoos of their own
    for (const std::string_view clause : property.clauses) {
      EXPECT_NE(find_clause(clause), nullptr) << property.id;
      of_properties.insert(clause);
    }
  }
  EXPECT_EQ(of_faults, of_properties);
}

TEST(ZooTable, AScenarioWithoutAFaultIsLeftAlone) {
  Scenario s = two_weights();
  Planned planned = plan_of(s);
  EXPECT_FALSE(apply_fault(planned, s));
  s.fault = "no such fault";
  EXPECT_FALSE(apply_fault(planned, s));
}

}  // namespace
}  // namespace shardcheck::tests
