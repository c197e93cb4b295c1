// The fused producer: Q1, Q2 and Q6 of wgrad 4.1, who drives is_first_microbatch, and capture.
#include <gtest/gtest.h>

#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

Scenario repeated(Strategy strategy) {
  Scenario s = base(strategy);
  s.overlap = false;
  s.uses = {{.parameter = 0}, {.parameter = 0}};
  return s;
}

TEST(Fused, ARepeatedWeightOverwritesThenAddsInALease) {
  EXPECT_EQ(story(plan_of(repeated(Strategy::fsdp_optim_grads)), 0, 0),
            "acquire write0 flag dummy acquire write1 flag dummy drop "
            "acquire write0 flag dummy acquire write1 flag dummy drop");
}

TEST(Fused, BackwardVisitsUsesInReverse) {
  const Planned planned = plan_of(repeated(Strategy::megatron_ddp));
  std::string uses;
  for (const Op& op : planned.plan.ops)
    if (std::holds_alternative<Gemm>(op.action) && op.why.step == 0) uses += std::to_string(op.why.use);
  EXPECT_EQ(uses, "1010");
}

TEST(Fused, DelayedWritesComeAfterAllPlaceholdersAndBeforeTheHook) {
  Scenario s = repeated(Strategy::fsdp_optim_grads);
  s.microbatches = 1;
  s.execution = Execution::delayed;
  EXPECT_EQ(story(plan_of(s), 0, 0), "flag dummy flag dummy acquire write0 acquire write1 drop")
      << "beta is asked when the write is issued (4.3)";
}

TEST(Fused, TheArmedCallIsTheFirstOfForwardAndTheLastOfBackward) {
  Scenario s = repeated(Strategy::megatron_ddp);
  s.write_mode = WriteMode::te_module;
  s.first_microbatch = FirstMicrobatch::armed;
  EXPECT_EQ(story(plan_of(s), 1, 0),
            "write1 flag dummy write0 flag dummy drop write1 flag dummy write1 flag dummy drop");
  s.first_microbatch = FirstMicrobatch::index;
  EXPECT_EQ(story(plan_of(s), 1, 0),
            "write0 flag dummy write0 flag dummy drop write1 flag dummy write1 flag dummy drop");
}

TEST(Fused, AGraphReplaysTheBetaOfItsCapture) {
  Scenario s = base(Strategy::megatron_ddp);
  s.execution = Execution::graph;
  s.write_mode = WriteMode::te_module;
  s.first_microbatch = FirstMicrobatch::index;
  const Planned planned = plan_of(s);
  EXPECT_EQ(story(planned, 0, 0), "write0 flag dummy drop write0 flag dummy drop");
  EXPECT_EQ(story(planned, 1, 0), "write0 flag dummy drop write0 flag dummy drop");
  int captured = 0;
  for (const Op& op : planned.plan.ops) captured += op.why.rule == BetaRule::captured;
  EXPECT_EQ(captured, 2) << "named so where the predicate says something else: microbatch 1 of both steps";
  s.write_mode = WriteMode::r5;
  s.first_microbatch = FirstMicrobatch::none;
  EXPECT_EQ(story(plan_of(s), 1, 0), "write1 flag dummy drop write1 flag dummy drop") << "survives capture";
}

TEST(Fused, RanksWithOtherTokensOrAnotherBetaGetTheirOwnWrite) {
  Scenario s = base(Strategy::fsdp_optim_grads);
  s.uses = {{.parameter = 0}, {.parameter = 0}};
  s.microbatches = 1;
  s.tokens = 3;
  s.token_counts = {{.rank = 1, .microbatch = 0, .tokens = 0}};
  const Planned planned = plan_of(s);
  std::string writes;
  for (const Op& op : planned.plan.ops) {
    const auto* gemm = std::get_if<Gemm>(&op.action);
    if (gemm == nullptr || op.why.step != 0) continue;
    writes += describe(planned.plan.ranks_of(op)) + ": " + std::to_string(gemm->tokens) + "; ";
    EXPECT_EQ(planned.plan.operand(op, 0)[0].numel, gemm->tokens * 4) << "dy";
    EXPECT_EQ(planned.plan.operand(op, 1)[0].numel, gemm->tokens * 32) << "x";
    EXPECT_EQ(gemm->rows, 4);
    EXPECT_EQ(gemm->columns, 32);
  }
  EXPECT_EQ(writes, "rank 0: 3; rank 1: 0; rank 0: 3; rank 1: 0; ");
}

}  // namespace
}  // namespace shardcheck::tests
