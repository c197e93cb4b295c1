#include "properties/generate/soundness.h"

#include <gtest/gtest.h>

#include "backends/registry.h"
#include "properties/evidence.h"
#include "properties/generate/random_scenario.h"
#include "sim/scenario/json.h"
#include "tests/properties/generate/foci.h"

namespace shardcheck {
namespace {

TEST(Soundness, WhatItAcceptsShowsNoFindingAndWhatItRefusesMostlyDoes) {
  const auto backend = make_backend("cpu", {.profile = "ideal"});
  std::int64_t refused = 0, refused_without_finding = 0;
  for (const Focus focus : kFoci) {
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
      Draw draw(seed, 5);
      const Scenario s = random_unsound_scenario(draw, focus);
      const auto findings = examine(*backend, s, Poison::large).findings;
      if (is_sound(s)) {
        ASSERT_TRUE(findings.empty()) << findings.front().clause << ' ' << findings.front().sentence << '\n'
                                      << to_json(s);
      } else {
        ++refused;
        refused_without_finding += findings.empty();
      }
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_LT(refused_without_finding * 5, refused);
}

Scenario tied(WriteMode mode, Strategy strategy, Producer first, Producer second) {
  Scenario s;
  s.strategy = strategy;
  s.write_mode = mode;
  s.parameters.push_back({.name = "w0", .shape = {2, 6}});
  s.uses = {{0, first, -1}, {0, second, -1}};
  return s;
}

TEST(Soundness, ReferenceDesignsAlwaysAreWithZeroing) {
  for (const WriteMode mode : {WriteMode::r5, WriteMode::r6, WriteMode::r7, WriteMode::r8}) {
    Scenario s = tied(mode, Strategy::megatron_ddp, Producer::fused, Producer::unfused);
    EXPECT_TRUE(is_sound(s));
    s.zeroing = false;
    EXPECT_FALSE(is_sound(s));
    s.strategy = Strategy::fsdp_optim_grads;
    EXPECT_TRUE(is_sound(s));
  }
}

/// Today's grouped layers read the flags of the first member: right where all are in its state.
TEST(Soundness, AGroupedCallOfTodayWantsExpertsInOneState) {
  Scenario s = tied(WriteMode::r3, Strategy::fsdp_optim_grads, Producer::fused, Producer::fused);
  s.uses.pop_back();
  s.parameters.push_back({.name = "w1", .shape = {2, 6}});
  s.uses.push_back({1, Producer::fused, -1, true});
  EXPECT_TRUE(is_sound(s));
  Scenario touched = s;
  touched.uses.push_back({0, Producer::fused, -1});
  EXPECT_FALSE(is_sound(touched));
  touched.write_mode = WriteMode::r5;
  EXPECT_TRUE(is_sound(touched)) << "every expert has its own bit";
  touched.write_mode = WriteMode::r1;
  touched.strategy = Strategy::megatron_ddp;
  EXPECT_TRUE(is_sound(touched)) << "R1 reads no state";
  s.write_mode = WriteMode::te_ops;
  s.parameters[0].unit = 1;
  s.uses[0].unit = 0;
  EXPECT_FALSE(is_sound(s)) << "nobody unshards the unit of the first";
}

// wgrad 4.4, column "temp, later use".
TEST(Soundness, OnlyR3AccumulatesALaterUseOfALease) {
  for (const WriteMode mode : {WriteMode::te_module, WriteMode::te_ops, WriteMode::r1, WriteMode::r2}) {
    EXPECT_FALSE(is_sound(tied(mode, Strategy::fsdp_optim_grads, Producer::fused, Producer::fused)));
    EXPECT_TRUE(is_sound(tied(mode, Strategy::megatron_ddp, Producer::fused, Producer::fused)));
  }
  EXPECT_TRUE(is_sound(tied(WriteMode::r3, Strategy::fsdp_optim_grads, Producer::fused, Producer::fused)));
}

// wgrad 9.4.
TEST(Soundness, DdpAddsToATiedWeightAndFsdpDropsIt) {
  EXPECT_TRUE(is_sound(tied(WriteMode::te_ops, Strategy::megatron_ddp, Producer::unfused, Producer::fused)));
  EXPECT_FALSE(is_sound(tied(WriteMode::te_ops, Strategy::fsdp_optim, Producer::unfused, Producer::fused)));
}

// wgrad 3.4: the hook copies or drops, and what it has not seen is zero-filled at the end of backward.
TEST(Soundness, TodaysFsdpKnowsNoWriteWithoutAFlag) {
  const auto with = [](Strategy strategy, Producer other) {
    return is_sound(tied(WriteMode::r3, strategy, Producer::unflagged, other));
  };
  EXPECT_FALSE(with(Strategy::fsdp_optim_grads, Producer::unflagged));
  EXPECT_FALSE(with(Strategy::fsdp_optim_grads, Producer::unfused));
  EXPECT_TRUE(with(Strategy::fsdp_optim_grads, Producer::fused));
  EXPECT_TRUE(with(Strategy::fsdp_optim, Producer::unfused));
  EXPECT_TRUE(with(Strategy::megatron_ddp, Producer::unflagged));
}

// wgrad 9.5.
TEST(Soundness, TheArmedCallErasesTheOthers) {
  Scenario s = tied(WriteMode::te_module, Strategy::megatron_ddp, Producer::fused, Producer::fused);
  s.first_microbatch = FirstMicrobatch::armed;
  EXPECT_FALSE(is_sound(s));
  s.uses.pop_back();
  EXPECT_TRUE(is_sound(s));
  s.execution = Execution::graph;
  EXPECT_FALSE(is_sound(s));
}

// wgrad 4.4, column "unused in mb 0 then used".
TEST(Soundness, R4NeedsEveryParameterInMicrobatchZero) {
  Scenario s = tied(WriteMode::r4, Strategy::megatron_ddp, Producer::fused, Producer::fused);
  EXPECT_FALSE(is_sound(s));
  s.uses.pop_back();
  EXPECT_TRUE(is_sound(s));
  s.silent = {{0, 1, 0, 0}};
  EXPECT_FALSE(is_sound(s));
  s.silent = {{0, 1, 0, 1}};
  EXPECT_TRUE(is_sound(s));
}

TEST(Soundness, R4DoesNotZeroWhatADistributedWeightAddsTo) {
  Scenario s = tied(WriteMode::r4, Strategy::megatron_ddp, Producer::distributed, Producer::distributed);
  EXPECT_FALSE(is_sound(s));
  s.write_mode = WriteMode::te_module;
  s.first_microbatch = FirstMicrobatch::index;
  EXPECT_TRUE(is_sound(s)) << "no proxy chooses its beta";
}

// wgrad 3.4: an unshard between a fused use and its hook lowers the flag.
TEST(Soundness, AUseInAnotherUnitLosesItsFlag) {
  Scenario s = tied(WriteMode::r3, Strategy::fsdp_optim_grads, Producer::fused, Producer::fused);
  s.uses[1].unit = 1;  // the last of forward is the first of backward
  EXPECT_FALSE(is_sound(s));
  s.strategy = Strategy::fsdp_no_shard;
  EXPECT_TRUE(is_sound(s));
  s.strategy = Strategy::fsdp_optim_grads;
  s.uses = {{0, Producer::fused, 1}, {0, Producer::fused, -1}};
  EXPECT_TRUE(is_sound(s));
}

}  // namespace
}  // namespace shardcheck
