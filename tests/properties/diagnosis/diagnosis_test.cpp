// The worked examples of wgrad 9, diagnosed: the right sentences, the first wrong op and the numbers of the
// tables there.
#include "properties/diagnosis/diagnosis.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/properties/diagnosis/cases.h"

namespace shardcheck {
namespace {

using test::backend;
using testing::Test;
using Strings = std::vector<std::string>;

TEST(Diagnosis, OverwriteFlagOnAPersistentOwner) {  // 9.3: 68 = digits 0, 1, 0, 1
  Scenario s = test::worked_example();
  s.strategy = Strategy::fsdp_optim;
  s.loss = Loss::per_token;
  s.fault = "B-08";
  const auto cpu = backend();
  const Diagnosis d = test::diagnose(s, "W4", *cpu);
  EXPECT_EQ(d.finding.provenance, (Strings{"microbatch 0 of rank 0 (step 0) is missing",
                                           "microbatch 0 of rank 1 (step 0) is missing"}));
  EXPECT_EQ(test::table_of(d),
            "7 r0 0 (0x00000000): zero;\n"
            "7 r1 0 (0x00000000): zero;\n"
            "9 r0 1 (0x3f800000): microbatch 0 of rank 0;\n"
            "9 r1 16 (0x41800000): microbatch 0 of rank 1;\n"
            "14 r0 4 (0x40800000): microbatch 1 of rank 0;\n"
            "14 r1 64 (0x42800000): microbatch 1 of rank 1;\n"
            "21 r0 68 (0x42880000): microbatch 1 of rank 0; microbatch 1 of rank 1;\n"
            "24 r0 17 (0x41880000): 1/4 x microbatch 1 of rank 0; 1/4 x microbatch 1 of rank 1;\n");
  EXPECT_EQ(d.first_wrong, OpIndex{14});
  EXPECT_EQ(d.last_right, OpIndex{9});
  EXPECT_EQ(d.finding.expected.value, 85.0 / 4);
  EXPECT_EQ(d.finding.microbatch, 1);
  EXPECT_EQ(d.finding.stream, "compute");
  EXPECT_TRUE(
      d.finding.op_text.starts_with("wgrad GEMM, beta = 0, 1 token of w (use 0, microbatch 1, step 0)"));
  ASSERT_EQ(d.signatures.size(), 1u);
  EXPECT_TRUE(d.signatures[0].starts_with("last-microbatch-only: only the last microbatch is in it"));
  EXPECT_TRUE(test::has_mending(d, "one microbatch", true));
  EXPECT_TRUE(test::has_mending(d, "without the fault B-08", true));
  EXPECT_TRUE(test::has_mending(d, "no overlap of reductions", false));
}

TEST(Diagnosis, RepeatedLayerAndTheFirstCallFlag) {  // 9.5: 81 = digits 1, 0, 1, 1
  Scenario s = test::worked_example();
  s.ranks = 1;
  s.uses = {{0, Producer::fused, -1}, {0, Producer::fused, -1}};
  s.write_mode = WriteMode::te_module;
  s.first_microbatch = FirstMicrobatch::armed;
  const auto cpu = backend();
  const Diagnosis d = test::diagnose(s, "W5", *cpu);
  EXPECT_EQ(d.finding.provenance, Strings{"microbatch 0 of rank 0 (step 0, use 1) is missing"});
  EXPECT_EQ(d.finding.expected.value, 85);
  EXPECT_EQ(d.finding.actual.value, 81);
  EXPECT_EQ(test::table_of(d),
            "8 r0 0 (0x00000000): zero;\n"
            "10 r0 4 (0x40800000): microbatch 0 of rank 0 (use 1);\n"
            "13 r0 1 (0x3f800000): microbatch 0 of rank 0 (use 0);\n"
            "18 r0 65 (0x42820000): microbatch 0 of rank 0 (use 0); microbatch 1 of rank 0 (use 1);\n"
            "21 r0 81 (0x42a20000): microbatch 0 of rank 0 (use 0); microbatch 1 of rank 0 (use 0); "
            "microbatch 1 of rank 0 (use 1);\n");
  EXPECT_EQ(d.first_wrong, OpIndex{13});
  EXPECT_EQ(d.last_right, OpIndex{10});
  EXPECT_TRUE(
      d.finding.op_text.starts_with("wgrad GEMM, beta = 0, 1 token of w (use 0, microbatch 0, step 0)"));
  EXPECT_TRUE(test::has_mending(d, "beta by R5 instead of te-module", true));
  EXPECT_TRUE(test::has_mending(d, "one use only", true));
  EXPECT_TRUE(test::has_mending(d, "one microbatch", false));
}

TEST(Diagnosis, TheValueFindingLeadsToTheSameOp) {
  Scenario s = test::worked_example();
  s.ranks = 1;
  s.uses = {{0, Producer::fused, -1}, {0, Producer::fused, -1}};
  s.write_mode = WriteMode::te_module;
  s.first_microbatch = FirstMicrobatch::armed;
  const auto cpu = backend();
  const Diagnosis by_monitor = test::diagnose(s, "W5", *cpu), by_value = test::diagnose(s, "W2", *cpu);
  EXPECT_EQ(by_monitor.first_wrong, by_value.first_wrong);
  EXPECT_EQ(by_monitor.last_right, by_value.last_right);
  EXPECT_EQ(by_value.finding.history, by_monitor.finding.history);
}

TEST(Diagnosis, LeaseReusedWithBetaOne) {  // 9.2, wrong (W4); poison shows the recycled bytes as NaN
  Scenario s = test::worked_example();
  s.strategy = Strategy::fsdp_optim_grads;
  s.parameters[0].shape = {2, 4};
  s.fault = "B-11";
  const auto cpu = backend();
  const Diagnosis d = test::diagnose(s, "W4", *cpu);
  EXPECT_TRUE(std::isnan(d.finding.actual.value));
  EXPECT_EQ(d.finding.expected.value, 42.5);
  EXPECT_EQ(d.finding.provenance, Strings{"bytes that nobody wrote are in it"});
  EXPECT_EQ(d.finding.microbatch, 0);
  EXPECT_TRUE(d.finding.op_text.starts_with("wgrad GEMM, beta = 1"));
  EXPECT_EQ(d.signatures, Strings{"poison: bytes that nobody wrote are in the sum (the poison shows)"});
  EXPECT_TRUE(test::has_mending(d, "beta by R6 instead of R5", true));
}

TEST(Diagnosis, StaleBetaOfABackendIsFoundByItsNumbers) {  // 9.2 again: the plan is right, the GEMM is not
  Scenario s = test::worked_example();
  s.strategy = Strategy::fsdp_optim_grads;
  const auto faulty = backend("faulty:stale-beta");
  const Diagnosis d = test::diagnose(s, "W1", *faulty);
  EXPECT_TRUE(
      d.finding.op_text.starts_with("wgrad GEMM, beta = 0, 1 token of w (use 0, microbatch 0, step 0)"));
  EXPECT_TRUE(d.first_wrong_because.starts_with("the plan is right up to here"));
}

TEST(Diagnosis, CompleteNamesWhatAReportNeeds) {
  Scenario s = test::worked_example();
  s.parameters[0].shape = {2, 12};
  const auto faulty = backend("faulty:skip-last-rank");
  Finding finding = test::finding_of(s, "W2", *faulty);
  EXPECT_EQ(finding.op.value, -1);
  complete(finding, s, *faulty);
  EXPECT_TRUE(finding.op_text.starts_with("all-reduce (sum) over groups of 2"));
  ASSERT_FALSE(finding.history.empty());
  EXPECT_EQ(
      finding.history.back(),
      "op 20 on rank 0: all-reduce (sum) over groups of 2 (step 0) in main_grad[0:24) on ranks 0 to 1 -> "
      "2.5 (0x40200000): 1/2 x microbatch 0 of rank 0, 1/2 x microbatch 1 of rank 0  [first wrong]");
}

TEST(Diagnosis, EveryFindingOfEveryJobHasAFirstWrongOp) {
  const auto cpu = backend();
  std::int64_t diagnosed = 0;
  for (const Scenario& s : test::jobs()) {
    for (Finding& finding : examine(*cpu, s, Poison::quiet_nan).findings) {
      complete(finding, s, *cpu);
      EXPECT_GE(finding.op.value, 0) << finding.clause << ": " << finding.sentence << describe(s);
      EXPECT_FALSE(finding.history.empty()) << finding.clause << describe(s);
      ++diagnosed;
    }
  }
  EXPECT_GT(diagnosed, 100);
}

TEST(Diagnosis, LargeScenariosAreNotRunAgain) {
  Scenario s = test::worked_example();
  s.parameters[0].shape = {1024, 1024};
  s.fault = "B-08";
  const auto cpu = backend();
  const Diagnosis d = test::diagnose(s, "W4", *cpu);
  EXPECT_TRUE(d.counterfactuals.empty());
  ASSERT_EQ(d.notes.size(), 1u);
  EXPECT_TRUE(d.notes[0].starts_with("no counterfactuals: a run writes 8388608 elements"));
  EXPECT_FALSE(d.history.empty());
}

TEST(Diagnosis, FindingWithoutAnElement) {
  const Scenario s = test::worked_example();
  const auto cpu = backend();
  const Finding twin{.clause = "W39", .sentence = "two runs differ"};
  const Diagnosis d = diagnose(s, twin, *cpu);
  EXPECT_TRUE(d.history.empty());
  EXPECT_EQ(d.notes.size(), 2u);
  Finding same = twin;
  complete(same, s, *cpu);
  EXPECT_TRUE(same.history.empty());
}

}  // namespace
}  // namespace shardcheck
