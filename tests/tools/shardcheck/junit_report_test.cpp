// JUnit XML is well-formed whatever stands in a finding, and counts what happened.
#include "tools/shardcheck/junit_report.h"

#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

/// Tags open and close in order, attributes are quoted, no bare markup: enough of XML for what we write.
bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at)) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos || std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
    const std::string name = tag.substr(0, tag.find_first_of(" /"));
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (!tag.ends_with('/') && !tag.starts_with('?')) {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty();
}

CheckResult everything() {
  CheckResult result;
  PropertyResult broken{.property = find_property("frozen"), .reproduce = "shardcheck replay x"};
  Failure failure;
  failure.findings = {Finding{.clause = "W10", .sentence = "<a> & \"b\"\x01"}};
  broken.report.failure = failure;
  PropertyResult uncovered{.property = find_property("lease")};
  uncovered.report.missing = {"an \"empty\" shard"};
  result.properties = {broken, uncovered, {.property = find_property("silence")}};
  result.kept = {{.file = "kept & broken.json", .findings = failure.findings}, {.file = "mended.json"}};
  result.skipped = {"legal-beta"};
  return result;
}

TEST(Junit, IsWellFormedAndCounts) {
  const std::string xml = junit_report(everything());
  EXPECT_TRUE(is_well_formed(xml)) << xml;
  EXPECT_TRUE(holds(xml, "tests=\"6\" failures=\"2\" errors=\"1\" skipped=\"1\"")) << xml;
  EXPECT_TRUE(holds(xml, "&lt;a&gt; &amp; &quot;b&quot;?")) << xml;
  EXPECT_TRUE(holds(xml, "required situations not reached: an &quot;empty&quot; shard")) << xml;
  EXPECT_TRUE(holds(xml, "<skipped/>"));
}

TEST(Junit, TheCheckerOfThisTestSeesDamage) {
  EXPECT_FALSE(is_well_formed("<a><b></a></b>"));
  EXPECT_FALSE(is_well_formed("<a>"));
  EXPECT_FALSE(is_well_formed("<a b=\"<\">"));
}

}  // namespace
}  // namespace shardcheck
