// The page of a verdict: contributions and collectives rank by rank, as data that a script cannot break out
// of.
#include "tools/shardcheck/audit/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/properties/audit/right_trace.h"

namespace shardcheck {
namespace {

Audited audited(AuditTrace trace) {
  AuditVerdict verdict = judge(trace);
  return {"traces/0007", std::move(trace), std::move(verdict)};
}

TEST(AuditPage, ShowsWhatIsRightToo) {
  const auto data =
      nlohmann::json::parse(audit_page_data(audited(audit_tests::right_trace(audit_tests::small_case(), 2))));
  EXPECT_EQ(data["verdict"], "held");
  EXPECT_EQ(data["trace"], "traces/0007");
  EXPECT_TRUE(data["findings"].empty());
  ASSERT_EQ(data["gradients"].size(), 4u);
  EXPECT_EQ(data["gradients"][0]["readers"][1]["owns"], "elements 4 to 7");
  EXPECT_EQ(data["gradients"][0]["contributions"][0].dump(), R"([0,0,0,0,1,["1","1"]])");
  ASSERT_EQ(data["groups"].size(), 1u);
  EXPECT_EQ(data["groups"][0]["difference"], -1);
  EXPECT_EQ(data["groups"][0]["rows"].size(), 2u);
  EXPECT_TRUE(data["notes"].empty());
}

TEST(AuditPage, MarksWrongGradientsFirstAndTheFirstDifference) {
  AuditTrace trace = audit_tests::right_trace(audit_tests::small_case(), 1);
  for (float& v : audit_tests::tensor_of(trace.ranks[1], Traced::gradient, 1, 1).values) v = 0;
  trace.ranks[1].collectives[1].sent = 7;
  trace.ranks[0].outcome = Outcome::deadline;
  trace.ranks[0].waiting = {"synchronize (run.py:75)"};
  const auto data = nlohmann::json::parse(audit_page_data(audited(std::move(trace))));
  EXPECT_EQ(data["verdict"], "BROKEN");
  EXPECT_EQ(data["findings"][0]["clause"], "W30");
  EXPECT_EQ(data["gradients"][0]["parameter"], "b");
  EXPECT_EQ(data["gradients"][0]["step"], 1);
  EXPECT_FALSE(data["gradients"][0]["readers"][0]["wrong"]);
  EXPECT_TRUE(data["gradients"][0]["readers"][1]["wrong"]);
  EXPECT_EQ(data["groups"][0]["difference"], 1);
  EXPECT_EQ(data["ranks"][0]["waiting"][0], "synchronize (run.py:75)");
}

TEST(AuditPage, SaysWhatIsLeftOut) {
  AuditTrace trace = audit_tests::right_trace(audit_tests::small_case(), 1);
  for (RankTrace& rank : trace.ranks) {
    const CollectiveEvent one = rank.collectives[0];
    rank.collectives.insert(rank.collectives.end(), 300, one);
  }
  trace.ranks[1].collectives[290].sent = 7;
  const auto data = nlohmann::json::parse(audit_page_data(audited(std::move(trace))));
  EXPECT_EQ(data["groups"][0]["rows"].size(), 200u);
  EXPECT_EQ(data["groups"][0]["first"], 102);  // of 302: the difference is in them
  EXPECT_EQ(data["notes"][0], "200 of 302 collectives of the group {0, 1} are shown, from number 102 on.");
}

TEST(AuditPage, ANameCannotEndTheScript) {
  AuditCase c = audit_tests::small_case();
  c.scenario.parameters[0].name = "a</script>";
  const std::string page = audit_page(audited(audit_tests::right_trace(c, 1)));
  EXPECT_EQ(page.find("a</script>"), std::string::npos);
  EXPECT_NE(page.find("a<\\/script>"), std::string::npos);
  EXPECT_EQ(page.find("/*"), std::string::npos);
}

}  // namespace
}  // namespace shardcheck
