#include "properties/diagnosis/counterfactuals.h"

#include <gtest/gtest.h>

#include "properties/determinism.h"
#include "properties/diagnosis/lookalikes.h"
#include "sim/scenario/validate.h"
#include "tests/properties/diagnosis/cases.h"

namespace shardcheck {
namespace {

std::vector<std::string> changes_of(const std::vector<Flip>& flips) {
  std::vector<std::string> changes;
  for (const Flip& flip : flips) changes.push_back(flip.change);
  return changes;
}

TEST(Counterfactuals, OneChoiceAtATimeTheSmallestFirst) {
  Scenario s = test::worked_example();
  s.write_mode = WriteMode::te_module;
  s.first_microbatch = FirstMicrobatch::armed;
  s.zeroing = false;
  s.comm = DType::bf16;
  s.data = DataMode::integers;
  s.silent = {{0, -1, 1, 1}};
  const std::vector<std::string> expected = {
      "beta by R5 instead of te-module",
      "beta by R6 instead of te-module",
      "beta by R7 instead of te-module",
      "the owner zeroes",
      "nobody drives is_first_microbatch",
      "no overlap of reductions",
      "every parameter used everywhere",
      "wire f32 like main_grad",
      "one microbatch",
      "strategy megatron-ddp-zero1 instead of megatron-ddp",
      "strategy megatron-fsdp-v1/no_shard instead of megatron-ddp",
      "strategy megatron-fsdp-v1/optim instead of megatron-ddp",
      "strategy megatron-fsdp-v1/optim_grads instead of megatron-ddp",
      "strategy megatron-fsdp-v1/optim_grads_params instead of megatron-ddp",
      "group of one"};
  EXPECT_EQ(changes_of(flips_of(s, 0)), expected);
}

TEST(Counterfactuals, EveryFlipIsValid) {
  Scenario s = test::worked_example();
  s.ranks = 4;
  s.expert_parallel = 2;
  s.microbatches = 3;
  s.steps = 2;
  s.parameters = {{.name = "w", .shape = {2, 16}, .expert = true}};
  s.uses = {{0, Producer::fused, -1}, {0, Producer::unfused, -1}};
  s.execution = Execution::delayed;
  s.token_counts = {{3, 2, 0}};
  s.silent = {{0, 1, 3, -1}};
  const auto flips = flips_of(s, 0);
  EXPECT_GT(flips.size(), 12u);
  for (const Flip& flip : flips) {
    EXPECT_NO_THROW(validate(flip.scenario, flip.change));
    EXPECT_NE(flip.scenario, s);
  }
}

TEST(Counterfactuals, ZeroingMendsAStaleBuffer) {
  Scenario s = test::worked_example();
  s.steps = 2;
  s.zeroing = false;
  s.write_mode = WriteMode::te_ops;
  const auto cpu = test::backend();
  const Diagnosis d = test::diagnose(s, "W6", *cpu);
  EXPECT_TRUE(test::has_mending(d, "the owner zeroes", true));
  EXPECT_TRUE(test::has_mending(d, "beta by R5 instead of te-ops", true));
  EXPECT_TRUE(test::has_mending(d, "one microbatch", false));
}

/// The first expert of the call was written before in this lease, which today's call takes for both.
TEST(Counterfactuals, CallsOfTheirOwnMendAFlagOfTheFirst) {
  Scenario s = test::worked_example();
  s.strategy = Strategy::fsdp_optim_grads;
  s.write_mode = WriteMode::r3;
  s.parameters.push_back(s.parameters[0]);
  s.parameters[1].name = "next";
  s.uses = {
      {.parameter = 0}, {.parameter = 1, .grouped = true}, {.parameter = 0, .producer = Producer::other}};
  s.data = DataMode::integers;
  const auto cpu = test::backend();
  const Diagnosis d = test::diagnose(s, "W17", *cpu);
  EXPECT_TRUE(test::has_mending(d, "experts written by calls of their own", true));
  EXPECT_TRUE(test::has_mending(d, "beta by R5 instead of R3", true));
}

TEST(Counterfactuals, AskThePropertyThatComparesRuns) {
  Scenario s = test::worked_example();
  s.ranks = s.microbatches = 1;
  s.uses = {{.parameter = 0}, {.parameter = 0}};
  s.main_grad = DType::bf16;
  s.execution = Execution::delayed;
  s.fault = "M-W39c";
  const auto cpu = test::backend();
  const auto shown = determinism(*cpu, s);
  ASSERT_FALSE(shown.empty());
  const Diagnosis d = diagnose(s, shown.front(), *cpu);
  EXPECT_TRUE(test::has_mending(d, "eager execution instead of delayed", true));
  ASSERT_FALSE(d.history.empty());
  EXPECT_EQ(d.history.back().value.bits, shown.front().actual.bits) << "on the data of the runs that differ";
}

TEST(Counterfactuals, SayNothingOfWhatOneRunDoesNotShow) {
  const auto cpu = test::backend();
  const Finding twin{.clause = "W39"};
  EXPECT_TRUE(counterfactuals(test::worked_example(), twin, Poison::quiet_nan, *cpu).empty());
}

TEST(Counterfactuals, EveryFaultOfTheZooCanBeFlipped) {
  const auto cpu = test::backend();
  for (const Fault& fault : zoo()) {
    if (fault.clause == "W39") continue;  // which one run does not show
    Scenario s = test::worked_example();
    s.steps = 2;
    s.parameters[0].shape = {2, 16};
    fault.prepare(s);
    s.fault = fault.id;
    validate(s, std::string(fault.id));
    const Evidence evidence = examine(*cpu, s, Poison::quiet_nan);
    ASSERT_FALSE(evidence.findings.empty()) << fault.id;
    for (const Finding& finding : evidence.findings) {
      const Diagnosis d = diagnose(s, finding, *cpu);
      EXPECT_TRUE(test::has_mending(d, "without the fault " + s.fault, true)) << fault.id;
      if (finding.clause.starts_with('F')) {  // of a weight, with a history of its own
        EXPECT_EQ(d.first_wrong.has_value(), finding.op.value >= 0) << fault.id << ": " << finding.sentence;
        EXPECT_EQ(d.finding.history.empty(), finding.op.value < 0 && finding.parameter < 0) << fault.id;
        continue;
      }
      if (finding.element < 0) {  // of calls, not of bytes
        EXPECT_TRUE(d.history.empty()) << fault.id << ": " << finding.sentence;
        continue;
      }
      // What a copy on another pipeline stage should have brought is no byte of this one.
      if (s.stages > 1 && finding.op.value < 0) continue;
      EXPECT_TRUE(d.first_wrong.has_value()) << fault.id << ": " << finding.sentence;
      if (s.stages > 1) continue;
      const bool frozen = !s.parameters[static_cast<std::size_t>(finding.parameter)].trainable;
      EXPECT_EQ(d.history.empty(), frozen) << fault.id;
    }
  }
}

TEST(Lookalikes, TheSameClauseTheMostAlikeFirst) {
  const auto prepare_leases = [](Scenario& s) { s.strategy = Strategy::fsdp_optim_grads; };
  const auto prepare_nothing = [](Scenario&) {};
  const Fault faults[] = {
      {.id = "A", .source = "a#1", .sentence = "far", .clause = "W4", .prepare = prepare_leases},
      {.id = "B", .source = "b#2", .sentence = "near", .clause = "W4", .prepare = prepare_nothing},
      {.id = "C", .source = "c#3", .sentence = "other", .clause = "W5", .prepare = prepare_nothing}};
  EXPECT_EQ(lookalikes(test::worked_example(), {.clause = "W4"}, faults),
            (std::vector<std::string>{"B (b#2): near", "A (a#1): far"}));
}

}  // namespace
}  // namespace shardcheck
