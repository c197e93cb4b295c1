// Verdicts on traces that real frameworks left (tests/data/audit), and the table of clauses.
#include "properties/audit/judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/properties/audit/right_trace.h"

namespace shardcheck {
namespace {

AuditVerdict recorded(const char* name) {
  return judge(read_trace(std::filesystem::path(SHARDCHECK_TEST_DATA) / "audit" / name));
}

ClauseWord word_for(const AuditVerdict& verdict, std::string_view clause) {
  return std::ranges::find(verdict.clauses, clause, &ClauseVerdict::clause)->word;
}

bool breaks(const AuditVerdict& verdict, std::string_view clause) {
  return word_for(verdict, clause) == ClauseWord::broken;
}

TEST(Audit, DdpWithAWeightThatIsSilentOnOneRankHolds) {
  const AuditVerdict verdict = recorded("ddp-silent");
  EXPECT_FALSE(verdict.is_broken());
  EXPECT_EQ(verdict.refusal, "");
  for (const char* clause : {"W1", "W2", "W6", "W7", "W24", "W28", "W30", "W32", "W39"})
    EXPECT_EQ(word_for(verdict, clause), ClauseWord::held) << clause;
  EXPECT_EQ(word_for(verdict, "W10"), ClauseWord::not_seen);
  EXPECT_EQ(verdict.gradients, 8);
}

TEST(Audit, Fsdp2WithProbingHolds) {
  const AuditVerdict verdict = recorded("fsdp2-good");
  EXPECT_FALSE(verdict.is_broken());
  EXPECT_GT(verdict.probes, 0);
  EXPECT_GT(verdict.collectives, 0);
}

TEST(Audit, Fsdp2WithAWeightThatIsSilentOnOneRankIssuesOtherCollectivesThere) {
  for (const char* name : {"fsdp2-silent-h200", "fsdp2-silent-gloo"}) {
    const AuditVerdict verdict = recorded(name);
    ASSERT_EQ(verdict.findings.size(), 1u) << name;
    EXPECT_TRUE(breaks(verdict, "W30")) << name;
    const Finding& finding = verdict.findings[0].finding;
    EXPECT_EQ(word_for(verdict, "W21"), ClauseWord::open)
        << "nobody can say what a run that hung would have reduced";
    EXPECT_EQ(finding.step, 0);
    EXPECT_EQ(finding.microbatch, 1);
    EXPECT_TRUE(finding.history[0].starts_with("rank 0: #5 reduce_scatter_base")) << finding.history[0];
    EXPECT_NE(finding.history[0].substr(8), finding.history[1].substr(8));
    EXPECT_EQ(verdict.refusal, "") << "an abort after a mismatch is no refusal";
  }
}

TEST(Audit, ThenAContributionIsMissingAndNothingSaysSo) {
  // One rank finished with a wrong gradient while the other hung.
  for (const char* name : {"fsdp2-silent-wrong-h200", "fsdp2-bf16-silent-wrong-h200"}) {
    const AuditTrace trace = read_trace(std::filesystem::path(SHARDCHECK_TEST_DATA) / "audit" / name);
    EXPECT_EQ(trace.ranks[1].outcome, Outcome::finished);
    const AuditVerdict verdict = judge(trace);
    EXPECT_TRUE(breaks(verdict, "W30")) << name;
    const auto lost =
        std::ranges::find(verdict.findings, "W2", [](const AuditFinding& f) { return f.finding.clause; });
    ASSERT_NE(lost, verdict.findings.end()) << name;
    EXPECT_EQ(lost->finding.rank, 1);
    EXPECT_EQ(lost->finding.provenance,
              std::vector<std::string>{"microbatch 2 of rank 0 (step 0) is missing"});
  }
}

AuditVerdict verdict_on(const char* name) {
  return judge(read_trace(std::filesystem::path(SHARDCHECK_TEST_DATA) / "audit" / name));
}

TEST(Audit, DeepspeedZero3KeepsTheGradientOfTheStepBefore) {
  const AuditVerdict verdict = verdict_on("deepspeed-zero3-stale-h200");
  ASSERT_EQ(verdict.findings.size(), 2u);  // on both ranks, each its part
  for (const AuditFinding& each : verdict.findings) {
    EXPECT_EQ(each.finding.clause, "W8");
    EXPECT_EQ(each.finding.step, 1);
    EXPECT_EQ(each.finding.provenance[0], "microbatch 0 of rank 0 (step 0) is in it and must not be");
  }
}

TEST(Audit, DeepspeedZero1DividesALossThatItWasToldNotToScale) {
  const AuditVerdict verdict = verdict_on("deepspeed-zero1-scale-h200");
  ASSERT_TRUE(verdict.is_broken());
  for (const AuditFinding& each : verdict.findings) EXPECT_EQ(each.finding.clause, "W24");
  EXPECT_NE(verdict.findings[0].finding.sentence.find("1/2 of"), std::string::npos);
}

TEST(Audit, DeepspeedZero3FinishesWithWhatDifferentCallsLeft) {
  const AuditTrace trace =
      read_trace(std::filesystem::path(SHARDCHECK_TEST_DATA) / "audit" / "deepspeed-zero3-silent-wrong-h200");
  for (const RankTrace& rank : trace.ranks) EXPECT_EQ(rank.outcome, Outcome::finished);
  const AuditVerdict verdict = judge(trace);
  for (const char* clause : {"W2", "W6", "W30"}) EXPECT_TRUE(breaks(verdict, clause)) << clause;
}

TEST(Audit, MegatronFsdpWithProbingHolds) {
  const AuditVerdict verdict = recorded("megatron-fsdp-good-h200");
  EXPECT_FALSE(verdict.is_broken());
  EXPECT_GT(verdict.probes, 0);
  EXPECT_EQ(word_for(verdict, "W28"), ClauseWord::held);
}

TEST(Audit, HybridShardingOfFsdp2AddsThePartialSumsOfOneWeightToAnother) {
  // All ranks do the same here: the schedule is symmetric and only the values show it.
  const AuditVerdict verdict = recorded("fsdp2-hsdp-mixed");
  EXPECT_TRUE(breaks(verdict, "W2"));
  EXPECT_TRUE(breaks(verdict, "W1"));
  EXPECT_EQ(word_for(verdict, "W30"), ClauseWord::held);
  EXPECT_EQ(word_for(verdict, "W29"), ClauseWord::open);
  const auto mixed =
      std::ranges::find(verdict.findings, "W2", [](const AuditFinding& f) { return f.finding.clause; });
  ASSERT_NE(mixed, verdict.findings.end());
  EXPECT_EQ(mixed->finding.parameter_name, "w1");
  const std::vector<std::string> said = {"microbatch 0 of rank 0 (step 0) is in it and must not be",
                                         "microbatch 0 of rank 1 (step 0) is in it and must not be"};
  EXPECT_EQ(mixed->finding.provenance, said);
}

TEST(Audit, ARaisedExceptionIsARefusalUnlessSomethingElseIsWrong) {
  AuditTrace trace = audit_tests::right_trace(audit_tests::small_case(), 1);
  trace.ranks[1].outcome = Outcome::raised;
  trace.ranks[1].error = "RuntimeError: no";
  trace.ranks[0].outcome = Outcome::stopped;
  EXPECT_EQ(judge(trace).refusal, "rank 1: RuntimeError: no");
  audit_tests::tensor_of(trace.ranks[0], Traced::gradient, 0, 0).values[0] = 0;
  const AuditVerdict wrong = judge(trace);
  EXPECT_EQ(wrong.refusal, "");
  EXPECT_TRUE(wrong.is_broken());
  EXPECT_EQ(word_for(wrong, "W4"), ClauseWord::open);
}

}  // namespace
}  // namespace shardcheck
