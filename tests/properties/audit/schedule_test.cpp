// Sequences of collectives: the first difference, and runs that never finish.
#include "properties/audit/schedule.h"

#include <gtest/gtest.h>

#include "tests/properties/audit/right_trace.h"

namespace shardcheck {
namespace {

using audit_tests::right_trace;
using audit_tests::small_case;

TEST(Schedule, EqualSequencesHold) {
  const AuditTrace trace = right_trace(small_case(), 1);
  EXPECT_TRUE(judge_schedule(trace).empty());
  EXPECT_EQ(collectives_of(trace), 4);
}

TEST(Schedule, TheFirstDifferenceIsShownRankByRank) {
  AuditTrace trace = right_trace(small_case(), 1);
  trace.ranks[1].collectives[1].sent = 12;
  const auto findings = judge_schedule(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].clause, "W30");
  EXPECT_EQ(findings[0].step, 1);
  ASSERT_EQ(findings[0].history.size(), 2u);
  EXPECT_EQ(findings[0].history[0],
            "rank 0: #1 allreduce sum f32, 20 -> 0 elements, step 1, microbatch 1, backward");
  EXPECT_EQ(findings[0].history[1],
            "rank 1: #1 allreduce sum f32, 12 -> 0 elements, step 1, microbatch 1, backward");
}

TEST(Schedule, ARankThatIsDoneIssuedTooFew) {
  AuditTrace trace = right_trace(small_case(), 1);
  trace.ranks[0].outcome = Outcome::deadline;
  trace.ranks[0].waiting = {"synchronize (run.py:75)"};
  trace.ranks[0].collectives[1].completed = false;
  trace.ranks[1].collectives.pop_back();
  const auto findings = judge_schedule(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].clause, "W30");
  EXPECT_NE(findings[0].history[1].find("nothing; it issued 1 in all"), std::string::npos);
  EXPECT_NE(findings[0].history[2].find("had not completed: #1 allreduce"), std::string::npos);
  EXPECT_NE(findings[0].history[2].find("synchronize (run.py:75)"), std::string::npos);
}

TEST(Schedule, AHangWithEqualSequencesIsNotFinished) {
  AuditTrace trace = right_trace(small_case(), 1);
  for (RankTrace& rank : trace.ranks) rank.outcome = Outcome::deadline;
  const auto findings = judge_schedule(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].clause, "W21");
  // A rank that was merely slower has issued less; that is no difference.
  trace.ranks[1].collectives.pop_back();
  EXPECT_EQ(judge_schedule(trace)[0].clause, "W21");
  // An exception explains why the others wait.
  trace.ranks[1].outcome = Outcome::raised;
  EXPECT_TRUE(judge_schedule(trace).empty());
}

}  // namespace
}  // namespace shardcheck
