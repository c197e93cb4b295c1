// The sequences of wgrad 3.1, 3.2 and 3.4 (persistent strategies): zeroed once, added locally, reduced once
// in the last microbatch.
#include <gtest/gtest.h>

#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

constexpr Strategy kPersistent[] = {Strategy::megatron_ddp, Strategy::megatron_ddp_zero1,
                                    Strategy::fsdp_no_shard, Strategy::fsdp_optim};

std::string collective_of(Strategy s) {
  return shards_gradient(s) ? "RS" : "AR";
}

TEST(PersistentOwner, WithoutOverlapItReducesInFinish) {
  for (Strategy strategy : kPersistent) {
    Scenario s = base(strategy);
    s.overlap = false;
    const Planned planned = plan_of(s);
    for (int step : {0, 1}) {
      EXPECT_EQ(story(planned, step), "[ zero | write1 flag dummy drop | write1 flag dummy drop scale " +
                                          collective_of(strategy) + " finish sgd ]")
          << name_of(strategy);
    }
  }
}

TEST(PersistentOwner, WithOverlapItReducesInTheLastBackward) {
  for (Strategy strategy : kPersistent) {
    const Planned planned = plan_of(base(strategy));
    const std::string overlapped =
        "[ zero | write1 flag dummy drop | write1 flag dummy drop record wait@r scale@r " +
        collective_of(strategy) + "@r record@r wait finish sgd ]";
    EXPECT_EQ(story(planned, 1), overlapped) << name_of(strategy);
    // DDP learns in its first step how often each hook fires (3.1, fact ii).
    if (is_megatron_fsdp_v1(strategy)) {
      EXPECT_EQ(story(planned, 0), overlapped) << name_of(strategy);
    } else {
      EXPECT_EQ(story(planned, 0), "[ zero | write1 flag dummy drop | write1 flag dummy drop scale " +
                                       collective_of(strategy) + " finish sgd ]");
    }
  }
}

/// Several optimizer instances (wgrad 3.2): the slice of each is summed over them, on the same stream.
TEST(PersistentOwner, OptimizerInstancesSumTheirSlices) {
  Scenario s = base(Strategy::megatron_ddp_zero1);
  s.overlap = false;
  s.microbatches = 1;
  s.ranks = 4;
  s.outer = 2;
  const Planned planned = plan_of(s);
  EXPECT_EQ(story(planned, 0), "[ zero | write1 flag dummy drop scale RS AR finish sgd ]");
  for (const Op& op : planned.plan.ops) {
    if (op.why.purpose == Purpose::reduce_outer) {
      EXPECT_EQ(describe(planned.plan.ranks_of(op)), "ranks 0, 2, 1, 3");
    }
  }
}

/// Shared storage (wgrad 6.4): staged, gathered, copied out and zeroed, all before the first write.
TEST(PersistentOwner, WeightsPassThroughTheZeroedGradientBuffer) {
  Scenario s = base(Strategy::megatron_ddp_zero1);
  s.overlap = false;
  s.microbatches = 1;
  s.staging = true;
  for (int step : {0, 1})
    EXPECT_EQ(story(plan_of(s), step),
              "[ zero weights= AG weights= zero | write1 flag dummy drop scale RS finish sgd ]");
  s.ranks = 1;
  EXPECT_EQ(story(plan_of(s), 1), "[ zero weights= weights= zero | write1 flag dummy drop finish sgd ]");
}

/// DeepSpeed ZeRO-1 (wgrad 3.7): gradients are None at first, so nothing is zeroed but what nobody touched.
TEST(PersistentOwner, DeepspeedBeginsItsAccumulatorWithTheFirstGradient) {
  Scenario s = base(Strategy::deepspeed_1);
  s.overlap = false;
  s.write_mode = WriteMode::r7;
  for (int step : {0, 1})
    EXPECT_EQ(story(plan_of(s), step),
              "[ | grad real hook= fold= | grad real hook+ fold+ scale RS finish sgd ]");
  s.silent = {{.parameter = 0}};
  EXPECT_EQ(story(plan_of(s), 1), "[ | | zero scale RS finish sgd ]");
}

TEST(PersistentOwner, AnotherTypeOnTheWireIsStagedAndCopiedBack) {
  Scenario s = base(Strategy::megatron_ddp_zero1);
  s.overlap = false;
  s.comm = DType::bf16;
  EXPECT_EQ(story(plan_of(s), 0),
            "[ zero | write1 flag dummy drop | write1 flag dummy drop stage scale RS unstage finish sgd ]");
}

TEST(PersistentOwner, ZeroingIsLeftOutOnRequestAndUnderR4) {
  Scenario s = base(Strategy::megatron_ddp);
  s.overlap = false;
  s.microbatches = 1;
  s.zeroing = false;
  EXPECT_EQ(story(plan_of(s), 1), "[ | write0 flag dummy drop scale AR finish sgd ]")
      << "first touch overwrites";
  s.zeroing = true;
  s.write_mode = WriteMode::r4;
  EXPECT_EQ(story(plan_of(s), 1), "[ | write0 flag dummy drop scale AR finish sgd ]");
}

TEST(PersistentOwner, EachBucketIsReducedWhenItsParametersAreReady) {
  Scenario s = base(Strategy::megatron_ddp);
  s.parameters.push_back({.name = "w1", .shape = {4, 32}});
  s.uses = {{0}, {1}};
  s.bucket_size = 128;
  s.microbatches = 1;
  s.loss = Loss::per_token;  // no scale: one token in each of two ranks, divided in finalize
  const std::string one = "write1 flag dummy drop record wait@r AR@r";
  EXPECT_EQ(story(plan_of(s), 1),
            "[ zero | " + one + " " + one + " record@r wait divide divide finish finish sgd sgd ]");
}

TEST(PersistentOwner, ASilentParameterIsReducedAllTheSame) {
  Scenario s = base(Strategy::megatron_ddp);
  s.silent = {{.parameter = 0, .step = 1}};
  EXPECT_EQ(story(plan_of(s), 1), "[ zero | | record wait@r scale@r AR@r record@r wait finish sgd ]");
}

TEST(PersistentOwner, AGroupOfOneNeedsNoCollective) {
  Scenario s = base(Strategy::megatron_ddp_zero1);
  s.ranks = s.expert_parallel = 2;
  s.parameters[0].expert = true;
  s.overlap = false;
  s.microbatches = 1;
  EXPECT_EQ(story(plan_of(s), 0), "[ zero | write1 flag dummy drop scale finish sgd ]");
}

TEST(PersistentOwner, AnUnshardOfFsdpOptimLowersTheFlag) {
  Scenario s = base(Strategy::fsdp_optim);
  s.overlap = false;
  s.write_mode = WriteMode::te_module;
  s.uses = {{.parameter = 0}, {.parameter = 0}};
  s.microbatches = 1;
  // The hook of a shared parameter waits for the end of backward, so the flag of forward is all that unshards
  // see; it was lowered by the hook before.
  EXPECT_EQ(story(plan_of(s), 0), "[ zero | write1 flag dummy write1 flag dummy drop scale RS finish sgd ]");
  s.uses = {{.parameter = 0}, {.parameter = 0, .unit = 1}};
  EXPECT_EQ(story(plan_of(s), 0, 0), "write1 flag dummy unflag write1 flag dummy drop")
      << "the parameter's own unit is gathered between its two uses";
  s.strategy = Strategy::fsdp_no_shard;
  EXPECT_EQ(story(plan_of(s), 0, 0), "write1 flag dummy write1 flag dummy drop") << "returns early (3.4)";
}

TEST(PersistentOwner, OwnedElementsAreAllOrTheOwnSlice) {
  for (Strategy strategy : kPersistent) {
    const Planned planned = plan_of(base(strategy));
    std::int64_t elements[2] = {0, 0};
    for (const Placement& p : planned.plan.owned) elements[p.rank.value] += p.view.numel;
    EXPECT_EQ(elements[0], shards_gradient(strategy) ? 64 : 128) << name_of(strategy);
    EXPECT_EQ(elements[1], elements[0]);
  }
}

}  // namespace
}  // namespace shardcheck::tests
