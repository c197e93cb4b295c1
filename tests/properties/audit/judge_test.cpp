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
