// Exceptions that are known, and those that only look alike.
#include "properties/audit/refusals.h"

#include <gtest/gtest.h>

#include "properties/audit/judge.h"
#include "tests/properties/audit/right_trace.h"

namespace shardcheck {
namespace {

TEST(Refusals, AVerdictSaysWhatAKnownExceptionMeans) {
  AuditCase c = audit_tests::small_case();
  c.adapter.name = "fsdp2";
  c.scenario.silent = {{.parameter = 1, .rank = 0}};
  AuditTrace trace = audit_tests::right_trace(c, 1);
  trace.ranks[0].outcome = Outcome::raised;
  trace.ranks[0].error = "AttributeError: 'FSDPParam' object has no attribute '_unsharded_param'";
  const std::string refusal = judge(trace).refusal;
  EXPECT_EQ(refusal.find("rank 0: AttributeError"), 0u) << refusal;
  EXPECT_NE(refusal.find("pytorch/pytorch#194058"), std::string::npos) << refusal;
  trace.ranks[0].error = "AttributeError: another";
  EXPECT_EQ(judge(trace).refusal, "rank 0: AttributeError: another");
}

TEST(Refusals, TheSameWordsInAnotherCaseMeanNothingKnown) {
  AuditCase c = audit_tests::small_case();
  const std::string sizes = "RuntimeError: The size of tensor a (28) must match the size of tensor b (15)";
  EXPECT_EQ(meaning_of(c, sizes), "");
  c.adapter.name = "fsdp2";
  EXPECT_EQ(meaning_of(c, sizes), "");
  c.adapter.replicas = 2;
  EXPECT_NE(meaning_of(c, sizes), "");
  c.adapter.all_reduce = SyncOn::every;
  EXPECT_EQ(meaning_of(c, sizes), "");
  c.adapter.name = "megatron-fsdp";
  EXPECT_NE(meaning_of(c, "ZeroDivisionError: integer division or modulo by zero"), "");
  c.scenario.parameters[0].unit = 1;
  EXPECT_EQ(meaning_of(c, "ZeroDivisionError: integer division or modulo by zero"), "");
}

}  // namespace
}  // namespace shardcheck
