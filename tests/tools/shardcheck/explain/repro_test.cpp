// The test holds the scenario as it was, and one clause in its name.
#include "tools/shardcheck/explain/repro.h"

#include <gtest/gtest.h>

#include "sim/scenario/json.h"

namespace shardcheck {
namespace {

TEST(Repro, HoldsTheScenarioBetweenItsMarks) {
  const Scenario scenario{.parameters = {{.name = "w", .shape = {2, 2}}}, .uses = {{0}}, .fault = "B-28"};
  const std::string test = repro_test(scenario, {.clause = "W33", .sentence = "reuses\na slot \\"});
  EXPECT_NE(test.find("TEST(Counterexample, HoldsW33)"), std::string::npos);
  EXPECT_NE(test.find("// W33 Slot reuse: reuses a slot"), std::string::npos);
  const auto begin = test.find("R\"JSON(") + 7, end = test.find(")JSON\"");
  EXPECT_EQ(scenario_from_json(test.substr(begin, end - begin), "repro"), scenario);
}

}  // namespace
}  // namespace shardcheck
