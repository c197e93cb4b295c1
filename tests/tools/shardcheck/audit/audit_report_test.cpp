// Verdicts as text and JSON: what comes first, what one word says, what several traces have in common.
#include "tools/shardcheck/audit/audit_report.h"

#include "tests/properties/audit/right_trace.h"
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

using audit_tests::right_trace;
using audit_tests::small_case;
using audit_tests::tensor_of;

Audited audited(AuditTrace trace, const std::string& folder) {
  AuditVerdict verdict = judge(trace);
  return {folder, std::move(trace), std::move(verdict)};
}

AuditTrace spoilt_trace() {
  AuditTrace trace = right_trace(small_case(), 1);
  for (RankTrace& rank : trace.ranks) {
    for (float& value : tensor_of(rank, Traced::gradient, 0, 0).values) value = 0;
    for (float& value : tensor_of(rank, Traced::gradient, 0, 1).values) value = 0;
  }
  return trace;
}

TEST(AuditReport, OneWordAndOneStatus) {
  EXPECT_EQ(word_of(judge(right_trace(small_case(), 1))), "held");
  EXPECT_EQ(exit_of(judge(right_trace(small_case(), 1))), ExitStatus::held);
  EXPECT_EQ(word_of(judge(spoilt_trace())), "BROKEN");
  EXPECT_EQ(exit_of(judge(spoilt_trace())), ExitStatus::broken);
  AuditTrace refused = right_trace(small_case(), 1);
  refused.ranks[1].outcome = Outcome::raised;
  refused.ranks[1].error = "RuntimeError: no";
  EXPECT_EQ(word_of(judge(refused)), "refused");
  EXPECT_EQ(exit_of(judge(refused)), ExitStatus::gave_up);
}

TEST(AuditReport, EveryClauseAndParameterIsToldBeforeItsRepetitions) {
  const AuditVerdict verdict = judge(spoilt_trace());
  const auto ordered = telling_first(verdict);
  ASSERT_EQ(ordered.size(), verdict.findings.size());
  ASSERT_GE(ordered.size(), 4u);  // two parameters on two ranks
  EXPECT_NE(ordered[0].finding.parameter, ordered[1].finding.parameter);
}

TEST(AuditReport, TextNamesFrameworkScenarioAndHowRanksEnded) {
  AuditTrace trace = spoilt_trace();
  trace.versions = {{"torch", "2.15"}, {"python", "3.11"}, {"adapter", "deepspeed 0.19"}};
  trace.ranks[1].outcome = Outcome::deadline;
  trace.ranks[1].waiting = {"outer (a.py:1)", "barrier (b.py:2)"};
  const std::string text = audit_text(Terminal{}, audited(std::move(trace), "here"));
  for (const char* part :
       {"W1 Final value", "on 2 ranks (cpu; deepspeed 0.19; torch 2.15)", "2 steps of 2 microbatches",
        "rank 1 deadline; it was in barrier (b.py:2)", "BROKEN: here; "})
    EXPECT_TRUE(holds(text, part)) << part << " in\n" << text;
}

TEST(AuditReport, SeveralTracesAreATableAndTheWorstSpeaks) {
  std::vector<Audited> all;
  all.push_back(audited(right_trace(small_case(), 1), "first"));
  all.push_back(audited(spoilt_trace(), "second"));
  const std::string table = audits_table(Terminal{}, all);
  EXPECT_TRUE(holds(table, "first held ddp")) << table;
  EXPECT_TRUE(holds(table, "second BROKEN W1 ddp")) << table;
  const auto json = nlohmann::json::parse(audits_json(all));
  EXPECT_EQ(json["verdict"], "BROKEN");
  EXPECT_EQ(json["exit_status"], 1);
  EXPECT_EQ(json["traces"][0]["exit_status"], 0);
  EXPECT_EQ(json["traces"][1]["findings"][0]["clause"], "W1");
  EXPECT_EQ(json["traces"][1]["clauses"].size(), json["traces"][0]["clauses"].size());
}

}  // namespace
}  // namespace shardcheck
