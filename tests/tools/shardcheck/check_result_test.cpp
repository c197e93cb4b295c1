// Which verdict and exit status follow from what was found.
#include "tools/shardcheck/check_result.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

PropertyResult held() {
  PropertyResult result{.property = &properties().front()};
  result.report.cases = 10;
  return result;
}
PropertyResult uncovered() {
  PropertyResult result = held();
  result.report.missing = {"an empty shard"};
  return result;
}
PropertyResult broken() {
  PropertyResult result = uncovered();
  result.report.failure = Failure{};
  return result;
}

CheckResult of(std::vector<PropertyResult> properties) {
  CheckResult result;
  result.properties = std::move(properties);
  return result;
}

TEST(CheckVerdict, IsTheWorstOfItsProperties) {
  EXPECT_EQ(exit_of(of({held(), held()})), ExitStatus::held);
  EXPECT_EQ(exit_of(of({held(), uncovered()})), ExitStatus::gave_up);
  EXPECT_EQ(exit_of(of({uncovered(), broken(), held()})), ExitStatus::broken);
}

TEST(CheckVerdict, AnInterruptCountsUnlessSomethingIsBroken) {
  CheckResult result = of({held()});
  result.is_interrupted = true;
  EXPECT_EQ(exit_of(result), ExitStatus::interrupted);
  EXPECT_EQ(name_of(verdict_of(result)), "gave_up");
  result.properties.push_back(broken());
  EXPECT_EQ(exit_of(result), ExitStatus::broken);
}

TEST(CheckVerdict, AKeptFailureThatStillFailsIsBroken) {
  CheckResult result = of({held()});
  result.kept = {{.file = "a.json", .moved_to = "mended/a.json"}};
  EXPECT_EQ(exit_of(result), ExitStatus::held);
  result.kept.push_back({.file = "b.json", .findings = {Finding{}}});
  EXPECT_EQ(exit_of(result), ExitStatus::broken);
}

}  // namespace
}  // namespace shardcheck
