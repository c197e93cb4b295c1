// The producer of GTP distributed weights: Q11 of wgrad 4.1, event by event.
#include <gtest/gtest.h>

#include "core/contract/monitor.h"
#include "sim/producers/producer.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

/// Four ranks; ranks 0 and 1, and 2 and 3, share the rows of the weight.
Scenario shared(Strategy strategy, std::int32_t gtp = 2) {
  Scenario s = base(strategy);
  s.ranks = 4;
  s.gtp = gtp;
  s.overlap = false;
  s.uses = {{0, Producer::distributed, -1}};
  return s;
}

TEST(Distributed, ReducesItsScratchAndAddsItsRowsWithoutAHook) {
  for (const WriteMode mode : {WriteMode::r5, WriteMode::te_module, WriteMode::r7}) {
    Scenario s = shared(Strategy::megatron_ddp);
    s.write_mode = mode;
    EXPECT_EQ(story(plan_of(s), 1, 0),
              "open write0 dummy RS-avg acc+ close open write0 dummy RS-avg acc+ close")
        << name_of(mode) << ": beta is 0 in every use and microbatch";
  }
}

TEST(Distributed, SumsWhereTokensDivideAndReducesNothingAlone) {
  Scenario s = shared(Strategy::megatron_ddp_zero1);
  s.microbatches = 1;
  s.loss = Loss::per_token;
  EXPECT_EQ(story(plan_of(s), 0, 0), "open write0 dummy RS acc+ close");
  s.gtp = 1;
  EXPECT_EQ(story(plan_of(s), 0, 0), "open write0 dummy acc+ close");
}

TEST(Distributed, OverlappedReductionsAreWaitedFor) {
  Scenario s = shared(Strategy::megatron_ddp);
  s.microbatches = 1;
  s.overlap = true;
  EXPECT_EQ(story(plan_of(s), 0, 0), "open write0 dummy RS-avg@r acc+ close");
  EXPECT_TRUE(judge(plan_of(s).plan).empty());
}

/// The ranks of the ops of that kind and purpose in step 0.
template <class Kind>
std::string ranks_of(const Planned& planned, Purpose purpose) {
  std::string text;
  for (const Op& op : planned.plan.ops) {
    if (std::holds_alternative<Kind>(op.action) && op.why.purpose == purpose && op.why.step == 0 &&
        op.why.parameter.value == 0)
      text += describe(planned.plan.ranks_of(op)) + "; ";
  }
  return text;
}

TEST(Distributed, ARankWithoutTheUseBringsZerosToItsPeers) {
  Scenario s = shared(Strategy::megatron_ddp);
  s.microbatches = 1;
  s.silent = {{.parameter = 0, .rank = 1}};
  const Planned planned = plan_of(s);
  EXPECT_EQ(ranks_of<Gemm>(planned, Purpose::write), "ranks 0, 2, 3; ");
  EXPECT_EQ(ranks_of<Fill>(planned, Purpose::zero), "rank 1; ");
  EXPECT_EQ(ranks_of<Communicate>(planned, Purpose::reduce_shards), "ranks 0 to 3; ");
  s.silent.push_back({.parameter = 0, .rank = 0});
  EXPECT_EQ(ranks_of<Communicate>(plan_of(s), Purpose::reduce_shards), "ranks 2 to 3; ")
      << "nobody who shares the rows with ranks 0 and 1 has the use";
}

TEST(Distributed, TheOwnerIsToldOnceAfterTheLastUse) {
  Scenario s = shared(Strategy::megatron_ddp);
  s.uses.push_back({0, Producer::distributed, -1});
  EXPECT_FALSE(has_hook(s, 0));
  const Planned planned = plan_of(s);
  std::string events;
  for (const Op& op : planned.plan.ops) {
    if (op.why.step != 0) continue;
    if (std::holds_alternative<Ready>(op.action)) events += "ready ";
    if (op.why.purpose == Purpose::accumulate)
      events += "add" + std::to_string(op.why.microbatch) + std::to_string(op.why.use) + " ";
    EXPECT_FALSE(std::holds_alternative<Hook>(op.action));
  }
  EXPECT_EQ(events, "add01 add00 add11 add10 ready ");
}

TEST(Distributed, EachRankHoldsAndOwnsRowsOfItsCoordinate) {
  Scenario s = shared(Strategy::megatron_ddp_zero1);
  s.parameters[0].shape = {8, 64};
  const Planned planned = plan_of(s);
  std::string places;
  for (const Placement& p : planned.plan.owned)
    places += std::to_string(p.rank.value) + ": " + std::to_string(p.first) + "+" +
              std::to_string(p.view.numel) + "; ";
  EXPECT_EQ(places, "0: 0+128; 2: 128+128; 1: 256+128; 3: 384+128; ") << "ranks 0 and 2 reduce together";
  const Planned others = plan_of(shared(Strategy::megatron_ddp, 4));
  ASSERT_EQ(others.plan.owned.size(), 4u);
  for (const Placement& p : others.plan.owned) EXPECT_EQ(p.first, 32 * p.rank.value);
  EXPECT_EQ(ranks_of<Communicate>(others, Purpose::reduce), "") << "a group of one";
}

}  // namespace
}  // namespace shardcheck::tests
