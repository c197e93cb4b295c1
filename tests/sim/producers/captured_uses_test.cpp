// Captured uses: static inputs, one graph a use, replays on a stream of their own, and what waits for them.
#include "sim/producers/captured_uses.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/plan/graph_region.h"
#include "core/plan/races.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

Scenario captured_job(Strategy strategy) {
  Scenario s = base(strategy);
  s.execution = Execution::graph;
  s.overlap = false;
  return s;
}

TEST(CapturedUses, AReplayReadsStaticInputsAndIsAwaitedByWhoTouchesItsWork) {
  EXPECT_EQ(story(plan_of(captured_job(Strategy::megatron_ddp)), 1),
            "[ zero "
            "| wait none= none= record wait@g < write1@g > record@g flag dummy drop "
            "| wait none= none= record wait@g < write1@g > record@g flag dummy drop "
            "wait scale AR finish sgd ]");
}

TEST(CapturedUses, WhatAnUnfusedUseReturnsIsCopiedAway) {
  Scenario s = captured_job(Strategy::megatron_ddp);
  s.uses = {{0, Producer::unfused}, {0, Producer::fused}};
  s.microbatches = 1;
  EXPECT_EQ(story(plan_of(s), 0, 0),
            "none= none= < write1@g > record@g flag zeroed-dummy "
            "none= none= < grad@g > record@g none= real wait undefine zero-dummy dummy+ hook+ fold+");
}

TEST(CapturedUses, EveryRegionCanBeCapturedAndIsTheSameInEveryMicrobatch) {
  for (const Strategy strategy : {Strategy::megatron_ddp, Strategy::fsdp_optim_grads}) {
    Scenario s = captured_job(strategy);
    s.uses = {{0}, {0, Producer::unfused}};
    s.slots = 1;
    s.overlap = true;
    const Planned planned = plan_of(s);
    const Plan& plan = planned.plan;
    EXPECT_TRUE(races_of(plan).empty());
    std::map<GraphId, std::vector<GraphRegion>> regions;
    for (std::int32_t i = 0; i < std::ssize(plan.ops); ++i) {
      const auto region = region_at(plan, OpIndex{i});
      EXPECT_EQ(std::holds_alternative<BeginGraph>(plan.ops[static_cast<std::size_t>(i)].action),
                region.has_value());
      if (!region) continue;
      EXPECT_EQ(why_not_captured(plan, *region), "");
      regions[region->graph].push_back(*region);
    }
    ASSERT_EQ(regions.size(), 2u) << "one a use";
    for (const auto& [graph, executions] : regions) {
      EXPECT_EQ(executions.size(), 4u) << "2 steps of 2 microbatches";
      const Op& first = plan.ops[static_cast<std::size_t>(executions[0].first)];
      for (const GraphRegion& region : executions) {
        ASSERT_EQ(region.end - region.first, 1);
        const Op& op = plan.ops[static_cast<std::size_t>(region.first)];
        EXPECT_TRUE(is_same_action(first.action, op.action));
        for (int operand = 0; operand < 3; ++operand)
          EXPECT_EQ(plan.operand(first, operand)[0], plan.operand(op, operand)[0]);
      }
    }
  }
}

TEST(CapturedUses, AGroupedCallIsOneGraph) {
  Scenario s = captured_job(Strategy::megatron_ddp);
  s.microbatches = 1;
  s.parameters.push_back({.name = "w1", .shape = {4, 32}});
  s.uses.push_back({.parameter = 1, .grouped = true});
  EXPECT_EQ(story(plan_of(s), 0),
            "[ zero | none= none= none= none= record wait@g < write1@g write1@g > record@g "
            "flag dummy flag dummy drop drop wait wait scale AR finish sgd ]");
  EXPECT_TRUE(races_of(plan_of(s).plan).empty());
}

TEST(CapturedUses, AGroupWithoutTokensHasNothingToCopy) {
  Scenario s = captured_job(Strategy::megatron_ddp);
  s.ranks = s.microbatches = 1;
  s.loss = Loss::per_token;
  s.parameters[0].groups = 2;
  s.token_counts = {{.rank = 0, .microbatch = 0, .tokens = 0, .parameter = 0, .group = 1}};
  EXPECT_EQ(story(plan_of(s), 0, 0), "none= none= < write1@g write1@g > record@g flag dummy drop wait");
}

TEST(CapturedUses, AFreshProcessCapturesAgain) {
  Scenario s = captured_job(Strategy::megatron_ddp);
  s.loop.resumes = {0};
  std::set<std::pair<std::int32_t, GraphId>> graphs;
  const Planned planned = plan_of(s);
  for (const Op& op : planned.plan.ops) {
    if (const auto* begin = std::get_if<BeginGraph>(&op.action)) graphs.emplace(op.why.step, begin->graph);
  }
  EXPECT_EQ(graphs, (std::set<std::pair<std::int32_t, GraphId>>{{0, GraphId{0}}, {1, GraphId{1}}}));
}

TEST(CapturedUses, EagerUsesOfACapturedParameterWaitForItsReplays) {
  Scenario s = captured_job(Strategy::megatron_ddp);
  s.uses = {{0, Producer::other}, {0, Producer::fused}};
  s.microbatches = 1;
  EXPECT_EQ(story(plan_of(s), 0, 0),
            "none= none= < write1@g > record@g flag dummy wait write1 flag dummy drop");
  EXPECT_TRUE(races_of(plan_of(s).plan).empty());
}

}  // namespace
}  // namespace shardcheck::tests
