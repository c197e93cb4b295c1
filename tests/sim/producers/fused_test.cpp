// The fused producer: Q1, Q2, Q3, Q6 and Q16 of wgrad 4.1, who drives is_first_microbatch, and capture.
#include <gtest/gtest.h>

#include "sim/producers/beta.h"
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

std::string writes_of(const Planned& planned, std::int32_t step) {
  std::string words;
  for (const Op& op : planned.plan.ops) {
    if (op.why.step == step && op.why.purpose == Purpose::write) words += word_of(planned.plan, op) + " ";
  }
  return words;
}

TEST(Fused, AGraphReplaysTheBetaOfItsCapture) {
  Scenario s = base(Strategy::megatron_ddp);
  s.execution = Execution::graph;
  s.write_mode = WriteMode::te_module;
  s.first_microbatch = FirstMicrobatch::index;
  const Planned planned = plan_of(s);
  EXPECT_EQ(writes_of(planned, 0), "write0@g write0@g ");
  EXPECT_EQ(writes_of(planned, 1), "write0@g write0@g ");
  int captured = 0;
  for (const Op& op : planned.plan.ops) captured += op.why.rule == BetaRule::captured;
  EXPECT_EQ(captured, 2) << "named so where the predicate says something else: microbatch 1 of both steps";
  s.write_mode = WriteMode::r5;
  s.first_microbatch = FirstMicrobatch::none;
  EXPECT_EQ(writes_of(plan_of(s), 1), "write1@g write1@g ") << "survives capture";
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

/// Two experts of one call, one microbatch.
Scenario two_experts(Strategy strategy) {
  Scenario s = base(strategy);
  s.microbatches = 1;
  s.overlap = false;
  s.parameters.push_back({.name = "w1", .shape = {4, 32}});
  s.uses = {{.parameter = 0}, {.parameter = 1, .grouped = true}};
  return s;
}

/// What the producers and hooks of a step say: words, each with its parameter.
std::string told(const Planned& planned) {
  std::string text;
  for (const Op& op : planned.plan.ops) {
    const std::string word = word_of(planned.plan, op);
    if (op.why.step == 0 && (word.starts_with("write") || word == "flag" || word == "drop" ||
                             word == "grad" || word == "real" || word == "acquire"))
      text += (text.empty() ? "" : " ") + word + ":" + std::to_string(op.why.parameter.value);
  }
  return text;
}

TEST(Fused, AGroupedCallWritesAllThenSaysSoThenItsHooksRun) {
  const Scenario s = two_experts(Strategy::megatron_ddp);
  EXPECT_EQ(told(plan_of(s)), "write1:0 write1:1 flag:0 flag:1 drop:0 drop:1");
  Scenario apart = s;
  apart.uses[1].grouped = false;
  EXPECT_EQ(told(plan_of(apart)), "write1:1 flag:1 drop:1 write1:0 flag:0 drop:0");
  Scenario unfused = s;
  for (ScenarioUse& use : unfused.uses) use.producer = Producer::unfused;
  EXPECT_EQ(told(plan_of(unfused)), "grad:0 grad:1 real:0 real:1");
}

TEST(Fused, ADelayedGroupedCallIsDrainedTogether) {
  Scenario s = two_experts(Strategy::fsdp_optim_grads);
  s.execution = Execution::delayed;
  EXPECT_EQ(told(plan_of(s)), "flag:0 flag:1 acquire:0 acquire:1 write0:0 write0:1 drop:0 drop:1");
}

/// The first expert of the call was written before in this lease, the other was not.
TEST(Fused, TodaysGroupedCallsAreWrittenByTheFlagsOfTheirFirst) {
  Scenario s = two_experts(Strategy::fsdp_optim_grads);
  s.uses.push_back({.parameter = 0});
  s.write_mode = WriteMode::r3;
  const auto of_call = [&](const Planned& planned) {
    for (const Op& op : planned.plan.ops) {
      const auto* gemm = std::get_if<Gemm>(&op.action);
      if (gemm != nullptr && op.why.parameter.value == 1) return Beta{gemm->accumulate, op.why.rule};
    }
    return Beta{};
  };
  EXPECT_EQ(of_call(plan_of(s)), (Beta{true, BetaRule::other_parameter})) << "one bit read for both";
  s.execution = Execution::delayed;
  EXPECT_EQ(of_call(plan_of(s)), (Beta{true, BetaRule::other_parameter}));
  s.write_mode = WriteMode::r5;
  EXPECT_EQ(of_call(plan_of(s)), (Beta{false, BetaRule::first_touch})) << "every expert has its own bit";
  s.write_mode = WriteMode::r3;
  s.execution = Execution::eager;
  s.uses.pop_back();
  EXPECT_EQ(of_call(plan_of(s)), (Beta{false, BetaRule::lease_flag})) << "judged by effect";
}

TEST(Fused, ExpertsHaveTheTokensThatAreRoutedToThem) {
  Scenario s = two_experts(Strategy::megatron_ddp);
  s.tokens = 3;
  s.token_counts = {{.rank = 0, .microbatch = 0, .tokens = 0, .parameter = 1}};
  std::string tokens;
  const Planned planned = plan_of(s);
  for (const Op& op : planned.plan.ops) {
    const auto* gemm = std::get_if<Gemm>(&op.action);
    if (gemm != nullptr && op.why.step == 0)
      tokens += std::to_string(op.why.parameter.value) + " on " + describe(planned.plan.ranks_of(op)) + ": " +
                std::to_string(gemm->tokens) + "; ";
  }
  EXPECT_EQ(tokens, "0 on ranks 0 to 1: 3; 1 on rank 0: 0; 1 on rank 1: 3; ");
}

TEST(Fused, AWeightOfSeveralExpertsHasAProductForEachAndOneFlag) {
  for (const Producer producer : {Producer::fused, Producer::unfused}) {
    Scenario s = base(Strategy::megatron_ddp);
    s.microbatches = 1;
    s.overlap = false;
    s.parameters[0].groups = 2;
    s.uses[0].producer = producer;
    s.token_counts = {{.rank = 1, .microbatch = 0, .tokens = 0, .parameter = 0, .group = 1}};
    const Planned planned = plan_of(s);
    EXPECT_EQ(told(planned), producer == Producer::fused ? "write1:0 write1:0 write1:0 flag:0 drop:0"
                                                         : "grad:0 grad:0 grad:0 real:0");
    std::vector<View> destinations;
    for (const Op& op : planned.plan.ops) {
      if (const auto* gemm = std::get_if<Gemm>(&op.action)) {
        EXPECT_EQ(gemm->rows, 2);
        EXPECT_EQ(planned.plan.operand(op, 0)[0].numel, gemm->tokens * 2);
        EXPECT_EQ(planned.plan.operand(op, 0)[0].offset % 8, 0) << "16 bytes of bf16";
        destinations.push_back(planned.plan.operand(op, 2)[0]);
      }
    }
    ASSERT_EQ(destinations.size(), 6u);
    EXPECT_EQ(destinations[0].numel, 64);
    EXPECT_EQ(destinations[1].offset, destinations[0].offset + 64) << "the rows of the second expert";
    EXPECT_EQ(destinations[2], destinations[1]) << "on the rank without tokens";
  }
}

/// An unflagged weight in front of a fused one, in one bucket: backward comes to it last.
Scenario without_hook(Strategy strategy) {
  Scenario s = base(strategy);
  s.parameters.push_back({.name = "w1", .shape = {4, 32}});
  s.uses = {{0, Producer::unflagged, -1}, {1, Producer::fused, -1}};
  s.microbatches = 1;
  return s;
}

TEST(Unflagged, GetsTheWriteAloneAndNoHook) {
  Scenario s = base(Strategy::fsdp_optim_grads);
  s.uses = {{0, Producer::unflagged, -1}, {0, Producer::unflagged, -1}};
  s.microbatches = 1;
  EXPECT_EQ(story(plan_of(s), 0, 0), "acquire write0 nothing acquire write1 nothing");
  s.execution = Execution::delayed;
  EXPECT_EQ(story(plan_of(s), 0, 0), "nothing nothing acquire write0 acquire write1");
  s.execution = Execution::eager;
  s.uses[0].producer = Producer::fused;
  EXPECT_EQ(story(plan_of(s), 0, 0), "acquire write0 nothing acquire write1 flag dummy drop")
      << "with another use autograd calls the hook, after the last of them";
  s.uses[0].producer = Producer::unfused;
  EXPECT_EQ(story(plan_of(s), 0, 0), "acquire write0 nothing grad real hook+ fold+");
}

TEST(Unflagged, ItsBucketIsReducedAfterTheWriteByEveryOwner) {
  const std::string write = "write1 nothing ", leased = "write0 nothing ";
  const auto reduced = [](Strategy strategy) { return story(plan_of(without_hook(strategy)), 1); };
  EXPECT_NE(reduced(Strategy::megatron_ddp).find(write + "scale AR finish"), std::string::npos)
      << reduced(Strategy::megatron_ddp) << ": in finish";
  EXPECT_NE(reduced(Strategy::fsdp_optim_grads).find(leased + "record wait@r scale@r RS@r"),
            std::string::npos)
      << reduced(Strategy::fsdp_optim_grads) << ": at the end of the backward";
}

TEST(Unflagged, AnOwnerThatCountsHooksReducesTooEarly) {
  const std::string early = story(plan_of(without_hook(Strategy::megatron_ddp), Lapse::counts_hooks), 1);
  EXPECT_LT(early.find("AR@r"), early.find("write1 nothing")) << early;
}

TEST(Unflagged, TodaysFsdpZeroFillsWhatItsHookHasNotSeen) {
  Scenario s = base(Strategy::fsdp_optim_grads);
  s.write_mode = WriteMode::te_ops;
  s.uses = {{0, Producer::unflagged, -1}};
  s.microbatches = 1;
  EXPECT_EQ(story(plan_of(s), 0, 0), "acquire write0 nothing hook0 zero");
  s.strategy = Strategy::fsdp_optim;
  EXPECT_EQ(story(plan_of(s), 0, 0), "write1 nothing");
}

TEST(Chained, TheProductIsAddedToWhatAutogradHolds) {
  Scenario s = repeated(Strategy::fsdp_optim_grads);
  s.write_mode = WriteMode::r8;
  s.microbatches = 2;
  const std::string once = "chain0 chained chain1 chained hook= fold=";
  EXPECT_EQ(story(plan_of(s), 0, 0), once + " " + once) << "the hook clears it";
  s.strategy = Strategy::megatron_ddp;
  const std::string added = "chain0 chained chain1 chained hook+ fold+";
  EXPECT_EQ(story(plan_of(s), 0, 0), added + " " + added);
  EXPECT_EQ(story(plan_of(s, Lapse::keeps_chain), 0, 0),
            added + " chain1 chained chain1 chained hook+ fold+");
  s.execution = Execution::delayed;
  s.microbatches = 1;
  EXPECT_EQ(story(plan_of(s), 0, 0), "nothing nothing chain0 chain1 hook+ fold+");
}

TEST(Chained, ParamGradIsALocalSumBesideOtherGradients) {
  Scenario s = base(Strategy::megatron_ddp);
  s.write_mode = WriteMode::r8;
  s.microbatches = 1;
  s.uses = {{0, Producer::fused, -1}, {0, Producer::unfused, -1}};
  const Planned planned = plan_of(s);
  EXPECT_EQ(story(planned, 0, 0), "grad real none= chain1 chained hook+ fold+");
  for (const Buffer& buffer : planned.plan.buffers) {
    if (!buffer.name.starts_with("w0.grad")) continue;
    EXPECT_EQ(buffer.dtype, buffer.name == "w0.grad" ? s.main_grad : DType::bf16) << buffer.name;
  }
  std::swap(s.uses[0], s.uses[1]);
  EXPECT_EQ(story(plan_of(s), 0, 0), "chain0 chained grad real sum hook+ fold+");
  s.uses = {{0, Producer::fused, -1}, {0, Producer::deferred, -1}};
  EXPECT_EQ(story(plan_of(s), 0, 0),
            "flag zeroed-dummy chain0 chained write1 undefine zero-dummy dummy+ hook+ fold+")
      << "who writes main_grad goes on with it";
}

}  // namespace
}  // namespace shardcheck::tests
