// Calls that differ from rank to rank: what completes, what is mixed, what hangs and who waits for whom.
#include "core/plan/symmetry.h"

#include <gtest/gtest.h>

#include "core/plan/builder.h"

namespace shardcheck {
namespace {

class Symmetric : public testing::Test {
 protected:
  Symmetric() { plan.rank_arena = {Rank{0}, Rank{1}, Rank{2}, Rank{1}, Rank{0}}; }
  /// Ranks `ranks` call an all-reduce of `view` on the communicator of ranks 0 and 1.
  void call(std::vector<Rank> ranks, View view, Stream stream = Stream::compute) {
    enqueue({.group = 2}, 0, ranks, view, stream);
  }
  void enqueue(Communicate what, std::int32_t members, const std::vector<Rank>& ranks, View view,
               Stream stream = Stream::compute) {
    build.op(Enqueue{what, members}, {}, stream, ranks).on(view).on(view);
  }
  void order(Stream before, Stream after, std::vector<Rank> ranks) {
    const EventId event = build.event();
    build.op(Record{event}, {}, before, ranks);
    build.op(Wait{event}, {}, after, ranks);
  }
  static std::vector<RankCall> calls(std::int32_t of_0, std::int32_t of_1) {
    return {{Rank{0}, OpIndex{of_0}}, {Rank{1}, OpIndex{of_1}}};
  }

  static constexpr Rank zero{0}, one{1}, two{2};
  static constexpr std::int32_t kOneTwo = 1, kOneZero = 3;  ///< places of communicators in the arena
  Plan plan{.ranks = 3};
  PlanBuilder build{plan};
  BufferId buffer = build.buffer("b", BufferRole::main_grad, DType::f32, 8);
  BufferId narrow = build.buffer("n", BufferRole::main_grad, DType::bf16, 8);
  View a{buffer, 0, 4}, b{buffer, 4, 4}, longer{buffer, 0, 8};
};

TEST_F(Symmetric, APlanWithoutEnqueuesIs) {
  build.op(Communicate{.group = 2}, {}, Stream::compute, std::vector<Rank>{zero, one}).on(a).on(a);
  EXPECT_TRUE(symmetry_of(plan).holds());
}

TEST_F(Symmetric, TheSameCallsAtDifferentTimesAre) {
  call({zero}, a);
  call({zero}, b);
  call({one}, a);
  call({one}, b);
  EXPECT_TRUE(symmetry_of(plan).holds());
}

TEST_F(Symmetric, EqualSizesInAnotherOrderMix) {  // K15
  call({zero}, a);
  call({one}, b);
  call({zero}, b);
  call({one}, a);
  const Symmetry seen = symmetry_of(plan);
  ASSERT_EQ(seen.mismatches.size(), 1u);
  EXPECT_EQ(seen.mismatches[0].meeting, Meeting::mix);
  EXPECT_EQ(seen.mismatches[0].position, 0);
  EXPECT_EQ(seen.mismatches[0].calls, calls(0, 1));
  EXPECT_EQ(seen.mismatches[0].more, 1);
  EXPECT_TRUE(seen.stuck.empty());
}

TEST_F(Symmetric, OtherSizesHangAndOneRankWaitsInItsNextCall) {
  call({zero, one}, a);
  call({zero}, longer);
  call({one}, b);
  const Symmetry seen = symmetry_of(plan);
  ASSERT_EQ(seen.mismatches.size(), 1u);
  EXPECT_EQ(seen.mismatches[0].meeting, Meeting::hang);
  EXPECT_EQ(seen.mismatches[0].position, 1);
  EXPECT_EQ(seen.mismatches[0].calls, calls(1, 2));
  const std::vector<Stuck> expected{{zero, Stream::compute, OpIndex{1}}, {one, Stream::compute, OpIndex{2}}};
  EXPECT_EQ(seen.stuck, expected);
  EXPECT_TRUE(seen.cycle.empty());
}

TEST_F(Symmetric, AnotherTypeReductionOrCollectiveHangs) {
  const Communicate sum{.group = 2};
  Communicate average = sum, gather = sum;
  average.reduction = Reduction::average;
  gather.collective = Collective::all_gather;
  const std::vector<std::pair<Communicate, View>> others = {{sum, {narrow, 0, 4}}, {average, a}, {gather, a}};
  for (const auto& [what, view] : others) {
    plan.ops.clear();
    call({zero}, a);
    enqueue(what, 0, {one}, view);
    const Symmetry seen = symmetry_of(plan);
    ASSERT_EQ(seen.mismatches.size(), 1u);
    EXPECT_EQ(seen.mismatches[0].meeting, Meeting::hang);
  }
}

TEST_F(Symmetric, ARankThatCallsNothingMoreLeavesTheOtherWaiting) {
  call({zero, one}, a);
  call({zero}, b);
  const Symmetry seen = symmetry_of(plan);
  ASSERT_EQ(seen.mismatches.size(), 1u);
  EXPECT_EQ(seen.mismatches[0].calls, calls(1, -1));
  const std::vector<Stuck> expected{{zero, Stream::compute, OpIndex{1}}};
  EXPECT_EQ(seen.stuck, expected);
}

TEST_F(Symmetric, BothAMixAndTheHangBehindItAreShown) {
  call({zero}, a);
  call({one}, b);
  call({zero}, b);
  call({one}, longer);
  const Symmetry seen = symmetry_of(plan);
  ASSERT_EQ(seen.mismatches.size(), 2u);
  EXPECT_EQ(seen.mismatches[0].meeting, Meeting::mix);
  EXPECT_EQ(seen.mismatches[1].meeting, Meeting::hang);
}

TEST_F(Symmetric, TheOrderOfTheRanksDoesNotMakeAnotherCommunicator) {
  call({zero}, a);
  enqueue({.group = 2}, kOneZero, {one}, a);
  EXPECT_TRUE(symmetry_of(plan).holds());
}

/// Rank 0 calls first on {0, 1} and would go on; rank 1 calls first on {1, 2}; rank 2 first on {0, 2}.
TEST_F(Symmetric, ThreeCommunicatorsInACircle) {
  plan.rank_arena.insert(plan.rank_arena.end(), {Rank{0}, Rank{2}});
  const std::int32_t zero_two = 5;
  enqueue({.group = 2}, 0, {zero}, a);
  enqueue({.group = 2}, kOneTwo, {one}, a);
  enqueue({.group = 2}, zero_two, {two}, a);
  enqueue({.group = 2}, zero_two, {zero}, a);
  enqueue({.group = 2}, 0, {one}, a);
  enqueue({.group = 2}, kOneTwo, {two}, a);
  const Symmetry seen = symmetry_of(plan);
  EXPECT_TRUE(seen.mismatches.empty());
  EXPECT_EQ(seen.stuck.size(), 3u);
  const std::vector<Stuck> expected{{zero, Stream::compute, OpIndex{0}},
                                    {one, Stream::compute, OpIndex{1}},
                                    {two, Stream::compute, OpIndex{2}}};
  EXPECT_EQ(seen.cycle, expected);
}

/// Two communicators of the same two ranks do not exist here, so a second one is made of three ranks.
TEST_F(Symmetric, TwoCommunicatorsCrossOnOneStreamEachButNotOnTwo) {
  const Communicate all{.group = 3};
  enqueue(all, 0, {zero}, a);
  call({zero}, b);
  call({one}, b, Stream::reduce);
  enqueue(all, 0, {one}, a, Stream::reduce);
  enqueue(all, 0, {two}, a);
  const Symmetry crossed = symmetry_of(plan);
  const std::vector<Stuck> expected{{zero, Stream::compute, OpIndex{0}}, {one, Stream::reduce, OpIndex{2}}};
  EXPECT_EQ(crossed.cycle, expected);

  plan.ops[3].stream = Stream::compute;
  EXPECT_TRUE(symmetry_of(plan).holds()) << "each on a stream of its own";

  plan.ops.clear();
  enqueue(all, 0, {zero}, a);
  call({zero}, b);
  call({one}, b, Stream::reduce);
  order(Stream::reduce, Stream::compute, {one});
  enqueue(all, 0, {one}, a);
  enqueue(all, 0, {two}, a);
  const Symmetry waits = symmetry_of(plan);
  const std::vector<Stuck> through_a_wait{{zero, Stream::compute, OpIndex{0}},
                                          {one, Stream::compute, OpIndex{4}},
                                          {one, Stream::reduce, OpIndex{2}}};
  EXPECT_EQ(waits.cycle, through_a_wait) << "an event ties the streams together";
}

TEST_F(Symmetric, OneCommunicatorOnTwoStreamsCompletesInTheOrderOfTheHost) {
  call({zero, one}, a);
  call({zero, one}, b, Stream::reduce);
  EXPECT_TRUE(symmetry_of(plan).holds());
  plan.ops.clear();
  // Rank 1 cannot begin its first call before its second has completed.
  call({zero}, a);
  call({zero}, b, Stream::reduce);
  const EventId event = build.event();
  build.op(Record{event}, {}, Stream::reduce, std::vector<Rank>{one});
  build.op(Wait{event}, {}, Stream::compute, std::vector<Rank>{one});
  call({one}, a);
  call({one}, b, Stream::reduce);
  EXPECT_TRUE(symmetry_of(plan).holds()) << "an event recorded before there was work";
}

TEST_F(Symmetric, ACommunicatorWithoutEnqueuesIsCalledByItsCommunicates) {
  // Rank 0 comes to the collective of all only after its call with rank 1, which comes to its own after it.
  call({zero}, b);
  build.op(Communicate{.group = 3}, {}, Stream::compute, std::vector<Rank>{zero, one, two}).on(a).on(a);
  call({one}, b);
  EXPECT_EQ(symmetry_of(plan).cycle.size(), 2u);
  EXPECT_TRUE(symmetry_of(plan).mismatches.empty());
}

}  // namespace
}  // namespace shardcheck
