#include "sim/planner/job.h"

#include <gtest/gtest.h>

#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

TEST(Job, GroupsRanksByAKeyInTheOrderOfAppearance) {
  Scenario s = base(Strategy::megatron_ddp);
  s.ranks = 6;
  const Job job(s);
  std::string groups;
  job.each_group(
      job.all_ranks, [](Rank rank) { return rank.value % 3; },
      [&](int key, std::span<const Rank> ranks) {
        groups += std::to_string(key) + ": " + describe(ranks) + "; ";
      });
  EXPECT_EQ(groups, "0: ranks 0, 3; 1: ranks 1, 4; 2: ranks 2, 5; ");
  job.each_group(
      {}, [](Rank) { return 0; }, [](int, std::span<const Rank>) { FAIL() << "no group of no rank"; });
}

TEST(Job, PutsTheMembersOfAReductionGroupNextToEachOther) {
  Scenario s = base(Strategy::megatron_ddp);
  s.ranks = 6;
  s.expert_parallel = 2;
  const Job job(s);
  EXPECT_EQ(describe(job.reduction_ranks({.expert = false})), "ranks 0 to 5");
  EXPECT_EQ(describe(job.reduction_ranks({.expert = true})), "ranks 0, 2, 4, 1, 3, 5");
}

TEST(Job, AnOrderIsARecordAndAWaitOfANewEvent) {
  const Scenario s = base(Strategy::megatron_ddp);
  Job job(s);
  job.order(Stream::compute, Stream::compute, job.all_ranks);
  EXPECT_TRUE(job.planned.plan.ops.empty()) << "a stream is in order with itself";
  job.order(Stream::compute, Stream::reduce, job.all_ranks);
  const auto& ops = job.planned.plan.ops;
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].stream, Stream::compute);
  EXPECT_EQ(ops[1].stream, Stream::reduce);
  EXPECT_EQ(std::get<Record>(ops[0].action).event, std::get<Wait>(ops[1].action).event);
}

TEST(Job, KnowsWhichParametersMixFusedAndUnfusedUses) {
  Scenario s = base(Strategy::megatron_ddp);
  s.parameters.resize(3, s.parameters[0]);
  s.uses = {{0}, {0, Producer::unfused}, {1}, {1, Producer::other}, {2, Producer::other}, {2}};
  const auto mixed = [&](WriteMode mode) {
    s.write_mode = mode;
    const Job job(s);
    return std::vector<bool>{job.is_mixed(0), job.is_mixed(1), job.is_mixed(2)};
  };
  EXPECT_EQ(mixed(WriteMode::r5), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(mixed(WriteMode::r7), (std::vector<bool>{false, true, true})) << "no fusion, but other ops write";
}

TEST(Job, WhatLiesOnTheHostLiesThereAgainWhenAProcessGoesOn) {
  const Scenario s = base(Strategy::fsdp2);
  Job job(s);
  const BufferId id = job.allocate_on_host("shard", BufferRole::shard, DType::f32, 8);
  EXPECT_TRUE(job.planned.plan.buffer(id).on_host);
  EXPECT_FALSE(job.planned.plan.buffer(job.allocate("slot", BufferRole::lease_slot, DType::f32, 8)).on_host);
  job.reallocate();
  const auto& ops = job.planned.plan.ops;
  ASSERT_EQ(ops.size(), 4u);
  EXPECT_EQ(describe(job.planned.plan, ops[2]),
            "allocate (microbatch 0, step 0) in shard[0:8) on ranks 0 to 1");
}

TEST(Job, CarriesParametersIntoThePlan) {
  Scenario s = base(Strategy::megatron_ddp);
  s.ranks = 4;
  s.expert_parallel = 2;
  s.parameters.push_back({.name = "bias", .shape = {5}, .trainable = false, .expert = true});
  const Job job(s);
  const PlanParameter& bias = job.planned.plan.parameters[1];
  EXPECT_EQ(bias.name, "bias");
  EXPECT_EQ(bias.numel(), 5);
  EXPECT_FALSE(bias.trainable);
  EXPECT_EQ(bias.group, 2);
  EXPECT_EQ(job.planned.plan.parameters[0].group, 4);
}

}  // namespace
}  // namespace shardcheck::tests
