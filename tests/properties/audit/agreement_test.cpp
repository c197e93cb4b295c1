// What ranks must have in common: replicas, coverage, presence.
#include "properties/audit/agreement.h"

#include <gtest/gtest.h>

#include "tests/properties/audit/right_trace.h"

namespace shardcheck {
namespace {

using audit_tests::right_trace;
using audit_tests::small_case;
using audit_tests::tensor_of;

TEST(Agreement, RightTracesAgree) {
  EXPECT_TRUE(judge_agreement(right_trace(small_case(), 1)).empty());
  EXPECT_TRUE(judge_agreement(right_trace(small_case(), 2)).empty());
}

TEST(Agreement, ReplicasThatDifferAreNamed) {
  AuditTrace trace = right_trace(small_case(), 1);
  tensor_of(trace.ranks[1], Traced::parameter, 0, 1).values[5] += 1;
  const auto findings = judge_agreement(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].clause, "W39");
  EXPECT_EQ(findings[0].element, 5);
  trace.audited.adapter.replicas = 2;
  EXPECT_EQ(judge_agreement(trace)[0].clause, "W29");
}

TEST(Agreement, AnElementThatNobodyOwnsIsAHole) {
  AuditTrace trace = right_trace(small_case(), 2);
  tensor_of(trace.ranks[0], Traced::gradient, 1, 0).values.pop_back();
  const auto findings = judge_agreement(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].clause, "W28");
  EXPECT_EQ(findings[0].element, 3);
}

TEST(Agreement, NoGradientIsRightForASilentStepAndOnAllRanks) {
  AuditCase c = small_case();
  c.scenario.silent = {{.parameter = 0, .step = 1}};
  AuditTrace trace = right_trace(c, 2);
  const auto drop = [&](std::size_t rank) {
    TracedTensor& t = tensor_of(trace.ranks[rank], Traced::gradient, 1, 0);
    t.is_present = false;
    t.values.clear();
  };
  drop(0);
  ASSERT_EQ(judge_agreement(trace).size(), 1u);
  EXPECT_EQ(judge_agreement(trace)[0].clause, "W8");
  drop(1);
  EXPECT_TRUE(judge_agreement(trace).empty());
  // Where there were contributions it is a loss.
  trace.audited.scenario.silent.clear();
  ASSERT_EQ(judge_agreement(trace).size(), 1u);
  EXPECT_EQ(judge_agreement(trace)[0].clause, "W1");
}

}  // namespace
}  // namespace shardcheck
