// The sequences of wgrad 3.4 (sharded strategies): a lease of undefined bytes for each backward, reduced in
// every microbatch, accumulated onto a shard that is zeroed once a step.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/owners/rows.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

constexpr Strategy kSharded[] = {Strategy::fsdp_optim_grads, Strategy::fsdp_optim_grads_params};

TEST(LeaseOwner, EveryMicrobatchOpensReducesAccumulatesAndCloses) {
  for (Strategy strategy : kSharded) {
    Scenario s = base(strategy);
    s.overlap = false;
    const std::string microbatch = "| open acquire write0 flag dummy drop scale RS acc+ close ";
    const Planned planned = plan_of(s);
    for (int step : {0, 1})
      EXPECT_EQ(story(planned, step), "[ zero " + microbatch + microbatch + "finish sgd ]");
  }
}

TEST(LeaseOwner, WithOverlapTheReductionHasItsOwnStreamAndIsDrainedEachBackward) {
  Scenario s = base(Strategy::fsdp_optim_grads);
  const std::string microbatch =
      "| open acquire write0 flag dummy drop record wait@r scale@r RS@r acc+@r close@r record@r record@r "
      "wait ";
  EXPECT_EQ(story(plan_of(s), 1), "[ zero " + microbatch + microbatch + "finish sgd ]");
}

TEST(LeaseOwner, WithoutZeroingTheFirstReducedGradientReplacesTheShard) {
  Scenario s = base(Strategy::fsdp_optim_grads);
  s.overlap = s.zeroing = false;
  const std::string write = "| open acquire write0 flag dummy drop scale RS ";
  for (int step : {0, 1})
    EXPECT_EQ(story(plan_of(s), step), "[ " + write + "acc= close " + write + "acc+ close finish sgd ]");
}

TEST(LeaseOwner, SilentRanksAreZeroFilledBeforeTheReduction) {
  Scenario s = base(Strategy::fsdp_optim_grads);
  s.overlap = false;
  s.microbatches = 1;
  s.silent = {{.parameter = 0, .rank = 1}};
  EXPECT_EQ(story(plan_of(s), 0),
            "[ zero | open acquire write0 flag dummy drop zero scale RS acc+ close finish sgd ]");
  s.silent = {{.parameter = 0}};
  EXPECT_EQ(story(plan_of(s), 0), "[ zero | open zero scale RS acc+ close finish sgd ]");
}

TEST(LeaseOwner, R6FillsTheLeaseOnTheReduceStreamAndWaitsForIt) {
  Scenario s = base(Strategy::fsdp_optim_grads);
  s.microbatches = 1;
  s.write_mode = WriteMode::r6;
  EXPECT_EQ(
      story(plan_of(s), 0),
      "[ zero | open record wait@r zero@r record@r wait acquire write1 flag dummy drop record wait@r scale@r "
      "RS@r acc+@r close@r record@r record@r wait finish sgd ]");
}

Scenario unfused(Strategy strategy) {
  Scenario s = base(strategy);
  s.overlap = false;
  s.write_mode = WriteMode::r7;
  return s;
}

TEST(LeaseOwner, OwnersWithoutFusedProducersReplaceThenAdd) {
  for (Strategy strategy : {Strategy::fsdp_v2, Strategy::deepspeed_2, Strategy::deepspeed_3}) {
    const Planned planned = plan_of(unfused(strategy));
    for (int step : {0, 1}) {
      // The lease is opened by the fold, after autograd's gradient; ZeRO-3 cuts a parameter into a piece a
      // rank.
      const std::string folds = strategy == Strategy::deepspeed_3 ? "fold= fold= " : "fold= ";
      const std::string microbatch = "| grad real hook= open " + folds + "scale RS ";
      EXPECT_EQ(story(planned, step),
                "[ " + microbatch + "acc= close " + microbatch + "acc+ close finish sgd ]")
          << name_of(strategy);
    }
  }
}

/// set_requires_gradient_sync(False) (wgrad 3.6): microbatches are summed unsharded, in the type of the wire.
TEST(LeaseOwner, Fsdp2WithoutSyncKeepsItsLeaseUntilTheLastMicrobatch) {
  Scenario s = unfused(Strategy::fsdp2);
  s.sync = Sync::last;
  for (int step : {0, 1}) {
    const std::string pieces = "fold= fold= ";  // the rows of either rank
    EXPECT_EQ(story(plan_of(s), step), "[ zero | grad real hook= open " + pieces +
                                           "| grad real hook+ fold+ fold+ scale RS acc+ close finish sgd ]");
  }
}

TEST(LeaseOwner, OuterGroupsAddTheirShardsInTheLastMicrobatch) {
  Scenario s = base(Strategy::fsdp_optim_grads);
  s.overlap = false;
  s.ranks = 4;
  s.outer = 2;
  const std::string microbatch = "| open acquire write0 flag dummy drop scale RS acc+ ";
  EXPECT_EQ(story(plan_of(s), 1), "[ zero " + microbatch + "close " + microbatch + "AR close finish sgd ]");
  s.outer_mode = OuterMode::shard;
  EXPECT_EQ(story(plan_of(s), 1), "[ zero " + microbatch + "close " + microbatch + "RS close finish sgd ]");
}

TEST(LeaseOwner, Fsdp2ReducesOverItsReplicasInEveryMicrobatchOrKeepsPartialSums) {
  Scenario s = unfused(Strategy::fsdp2);
  s.ranks = 4;
  s.outer = 2;
  s.outer_sync = Sync::every;
  const std::string microbatch = "| grad real hook= open fold= fold= scale RS ";
  EXPECT_EQ(story(plan_of(s), 0),
            "[ zero " + microbatch + "AR acc+ close " + microbatch + "AR acc+ close finish sgd ]");
  s.outer_sync = Sync::last;
  EXPECT_EQ(story(plan_of(s), 0),
            "[ zero " + microbatch + "acc= close " + microbatch + "acc+ AR acc+ close finish sgd ]");
}

constexpr Strategy kOffloading[] = {Strategy::fsdp2, Strategy::deepspeed_2, Strategy::deepspeed_3};

TEST(LeaseOwner, OffloadMovesEachReducedGradientToTheHostBeforeItsLeaseIsReturned) {
  for (Strategy strategy : kOffloading) {
    Scenario s = unfused(strategy);
    s.offload = true;
    const std::string folds = strategy == Strategy::deepspeed_2 ? "fold= " : "fold= fold= ";
    const std::string microbatch = "| grad real hook= open " + folds + "scale RS ";
    const bool zeroes = strategy == Strategy::fsdp2;
    const std::string first = zeroes ? "host+" : "host=";
    EXPECT_EQ(story(plan_of(s), 1), std::string(zeroes ? "[ zero " : "[ ") + microbatch + first + " close " +
                                        microbatch + "host+ close finish sgd ]")
        << name_of(strategy);
    EXPECT_TRUE(plan_of(s).rows.test(static_cast<std::size_t>(Row::offload))) << name_of(strategy);
    s.offload = false;
    EXPECT_FALSE(plan_of(s).rows.test(static_cast<std::size_t>(Row::offload))) << name_of(strategy);
  }
}

TEST(LeaseOwner, WithOverlapTheMoveToTheHostIsOnTheStreamThatReturnsTheLease) {
  Scenario s = unfused(Strategy::fsdp2);
  s.offload = s.overlap = true;
  const std::string microbatch =
      "| grad real hook= open fold= fold= record wait@r scale@r RS@r host+@r close@r record@r record@r wait ";
  EXPECT_EQ(story(plan_of(s), 1), "[ zero " + microbatch + microbatch + "finish sgd ]");
}

TEST(LeaseOwner, ShardsAndMastersLieWhereTheOptimizerIs) {
  for (Strategy strategy : kOffloading) {
    Scenario s = unfused(strategy);
    for (const bool offload : {false, true}) {
      s.offload = offload;
      for (const Buffer& buffer : plan_of(s).plan.buffers) {
        const bool is_consumers = buffer.role == BufferRole::shard || buffer.role == BufferRole::master;
        EXPECT_EQ(buffer.on_host, offload && is_consumers) << buffer.name << " of " << name_of(strategy);
      }
    }
  }
}

/// Replicas add on the device what they hold of the step; only what the optimizer reads leaves it.
TEST(LeaseOwner, OffloadLeavesPartialSumsOnTheDevice) {
  Scenario s = unfused(Strategy::fsdp2);
  s.ranks = 4;
  s.outer = 2;
  s.offload = true;
  const std::string microbatch = "| grad real hook= open fold= fold= scale RS ";
  EXPECT_EQ(story(plan_of(s), 1),
            "[ zero " + microbatch + "acc= close " + microbatch + "acc+ AR host+ close finish sgd ]");
  s.outer_sync = Sync::every;
  EXPECT_EQ(story(plan_of(s), 1),
            "[ zero " + microbatch + "AR host+ close " + microbatch + "AR host+ close finish sgd ]");
}

TEST(LeaseOwner, AGroupOfOneAccumulatesWithoutACollective) {
  Scenario s = base(Strategy::fsdp_optim_grads);
  s.ranks = s.expert_parallel = 2;
  s.parameters[0].expert = true;
  s.overlap = false;
  s.microbatches = 1;
  EXPECT_EQ(story(plan_of(s), 0),
            "[ zero | open acquire write0 flag dummy drop scale acc+ close finish sgd ]");
}

Scenario three_units(std::int32_t slots) {
  Scenario s = base(Strategy::fsdp_optim_grads);
  s.slots = slots;
  s.steps = s.microbatches = 1;
  s.parameters = {{.name = "w0", .shape = {4, 32}},
                  {.name = "w1", .shape = {4, 32}, .unit = 1},
                  {.name = "w2", .shape = {4, 32}, .unit = 2}};
  s.uses = {{0}, {1}, {2}};
  return s;
}

/// The slots of the leases in the order of their opening, "!" before those that wait for their last reader.
std::string openings(const Planned& planned) {
  const Plan& plan = planned.plan;
  std::string text;
  for (std::size_t i = 1; i < plan.ops.size(); ++i) {
    if (!std::holds_alternative<OpenLease>(plan.ops[i].action)) continue;
    const bool waits =
        std::holds_alternative<Wait>(plan.ops[i - 1].action) && plan.ops[i - 1].stream == Stream::compute;
    const std::string name = plan.buffer(plan.operand(plan.ops[i], 0)[0].buffer).name;
    text += std::string(text.empty() ? "" : " ") + (waits ? "!" : "") + name;
  }
  return text;
}

TEST(LeaseOwner, SlotsTakeTurnsAndAReusedOneIsFenced) {
  EXPECT_EQ(openings(plan_of(three_units(1))), "slot.0 !slot.0 !slot.0");
  EXPECT_EQ(openings(plan_of(three_units(2))), "slot.0 slot.1 !slot.0");
  EXPECT_EQ(openings(plan_of(three_units(3))), "slot.0 slot.1 slot.2");
  Scenario s = three_units(2);
  s.overlap = false;
  EXPECT_EQ(openings(plan_of(s)), "slot.0 slot.1 slot.0") << "one stream needs no fence";
  s = three_units(2);
  s.microbatches = 2;
  EXPECT_EQ(openings(plan_of(s)), "slot.0 slot.1 !slot.0 slot.1 slot.0 !slot.1")
      << "the end of a backward waits for all";
}

TEST(LeaseOwner, ThePoolGrowsWhenEverySlotIsLent) {
  Scenario s = three_units(1);
  s.uses = {{0}, {1}, {0}};  // w0's lease is open while w1 needs one
  EXPECT_EQ(openings(plan_of(s)), "slot.0 slot.1 !slot.1")
      << "the last is for w2, which nobody used; slot.1 was returned before slot.0";
}

TEST(LeaseOwner, AnUnshardRewritesTheFlagsOfToday) {
  Scenario s = base(Strategy::fsdp_optim_grads);
  s.microbatches = 1;
  s.write_mode = WriteMode::te_module;
  s.uses = {{.parameter = 0}, {.parameter = 0, .unit = 1}};
  EXPECT_EQ(story(plan_of(s), 0, 0), "acquire write0 flag dummy unflag acquire write0 flag dummy drop")
      << "the second fused use overwrites the first (B-04's family)";
}

TEST(LeaseOwner, EachRankOwnsItsShard) {
  const Planned planned = plan_of(base(Strategy::fsdp_optim_grads));
  ASSERT_EQ(planned.plan.owned.size(), 2u);
  for (std::int32_t rank : {0, 1}) {
    const Placement& p = planned.plan.owned[static_cast<std::size_t>(rank)];
    EXPECT_EQ(p.rank.value, rank);
    EXPECT_EQ(p.first, 64 * rank);
    EXPECT_EQ(p.view.numel, 64);
    EXPECT_EQ(planned.plan.buffer(p.view.buffer).role, BufferRole::shard);
  }
}

}  // namespace
}  // namespace shardcheck::tests
