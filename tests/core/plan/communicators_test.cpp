// Who calls what together: communicators are sets of ranks, calls are counted a rank.
#include "core/plan/communicators.h"

#include <gtest/gtest.h>

#include "core/plan/builder.h"

namespace shardcheck {
namespace {

class Called : public testing::Test {
 protected:
  Called() { plan.rank_arena = {Rank{0}, Rank{1}, Rank{2}, Rank{1}, Rank{0}}; }
  void enqueue(std::int32_t members, std::vector<Rank> ranks, View view) {
    build.op(Enqueue{{.group = 2}, members}, {}, Stream::compute, ranks).on(view).on(view);
  }

  static constexpr Rank zero{0}, one{1};
  Plan plan{.ranks = 3};
  PlanBuilder build{plan};
  BufferId buffer = build.buffer("b", BufferRole::main_grad, DType::f32, 8);
  View a{buffer, 0, 4}, b{buffer, 4, 4}, whole{buffer, 0, 8};
};

TEST_F(Called, PlacesWithTheSameRanksAreOneCommunicator) {
  enqueue(0, {zero}, a);
  enqueue(3, {one}, a);  // listed as ranks 1, 0
  Communicators communicators(plan);
  ASSERT_EQ(communicators.all().size(), 1u);
  const Communicator& pair = communicators.at(0);
  EXPECT_TRUE(pair.is_listed);
  EXPECT_EQ(pair.ranks, (std::vector<Rank>{zero, one}));
  EXPECT_EQ(pair.number(one), 1u);
  EXPECT_EQ(pair.calls[0].size(), 1u);
  EXPECT_EQ(pair.calls[1].front().op, 1);
  EXPECT_TRUE(communicators.mismatches().empty());
}

TEST_F(Called, OneThatIsNotListedIsCalledByItsCommunicates) {
  build.op(Communicate{.group = 2}, {}, Stream::compute, std::vector<Rank>{zero, one}).on(a).on(a);
  Communicators communicators(plan);
  EXPECT_FALSE(communicators.are_any_listed());
  int calls = 0;
  communicators.each_call(0, [&](std::int32_t, Rank, const Call& call) { calls += call.op == 0; });
  EXPECT_EQ(calls, 2);
}

TEST_F(Called, AHangIsTheLastMismatchAndSaysWhere) {
  enqueue(0, {zero}, a);
  enqueue(0, {one}, b);  // mixes
  enqueue(0, {zero}, a);
  enqueue(0, {one}, whole);  // hangs
  enqueue(0, {zero}, a);
  enqueue(0, {one}, b);
  Communicators communicators(plan);
  const std::vector<Mismatch> mismatches = communicators.mismatches();
  ASSERT_EQ(mismatches.size(), 2u);
  EXPECT_EQ(mismatches[0].meeting, Meeting::mix);
  EXPECT_EQ(mismatches[1].meeting, Meeting::hang);
  EXPECT_EQ(mismatches[1].position, 1);
  EXPECT_EQ(communicators.at(0).hangs_at, 1);
}

}  // namespace
}  // namespace shardcheck
