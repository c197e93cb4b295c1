// Atoms: how the views of a plan cut its gradient buffers, and how far each stream has waited for the others.
#include "core/contract/content.h"

#include <gtest/gtest.h>

#include "tests/core/contract/tiny_plan.h"

namespace shardcheck::tests {
namespace {

TEST(ContentState, ViewsCutBuffersIntoAtoms) {
  TinyPlan p;
  p.write(0, p.main);        // cuts at 4
  p.reduce_scatter(p.main);  // cuts at 3
  const ContentState state(p.plan);
  const auto [first, last] = state.atoms(p.all(p.main));
  ASSERT_EQ(last - first, 3);
  EXPECT_EQ(state.offset_of(first), 0);
  EXPECT_EQ(state.offset_of(first + 1), 3);
  EXPECT_EQ(state.offset_of(first + 2), 4);
  const auto [own, own_last] = state.atoms(TinyPlan::slice(p.main, 1));
  EXPECT_EQ(own, first + 1);
  EXPECT_EQ(own_last, last);
  const auto empty = state.atoms({p.main, 4, 0});
  EXPECT_EQ(empty.first, empty.second);
}

TEST(ContentState, BothSidesOfAStagingCopyAreCutAlike) {
  TinyPlan p;
  p.write(0, p.main);
  p.stage();
  p.reduce_scatter(p.comm);
  const ContentState state(p.plan);
  const auto main = state.atoms(p.all(p.main)), comm = state.atoms(p.all(p.comm));
  EXPECT_EQ(main.second - main.first, 3);
  EXPECT_EQ(comm.second - comm.first, 3);
}

TEST(ContentState, OnlyGradientsAreTracked) {
  const TinyPlan p;
  const ContentState state(p.plan);
  for (BufferId id : {p.main, p.slot, p.shard, p.comm, p.grad, p.placeholder})
    EXPECT_TRUE(state.is_tracked(id));
  for (BufferId id : {p.inputs, p.master}) EXPECT_FALSE(state.is_tracked(id));
  EXPECT_DEATH(state.atoms(p.all(p.master)), "does not track");
  EXPECT_DEATH(state.atoms({p.main, 1, 2}), "off the atom borders");
}

TEST(ContentState, AWaitCarriesWhatTheRecordingStreamHadSeen) {
  Plan plan;
  plan.ranks = 2;
  plan.events = 3;
  ContentState state(plan);
  const Atom written{.stream = kReduce, .written = 5};
  const Rank rank{1};
  EXPECT_TRUE(state.is_ordered(rank, kReduce, written)) << "its own stream";
  EXPECT_FALSE(state.is_ordered(rank, kCompute, written));
  state.clocks().record(rank, kReduce, EventId{0}, 4);
  state.clocks().wait(rank, kCompute, EventId{0});
  EXPECT_FALSE(state.is_ordered(rank, kCompute, written)) << "recorded before the write";
  state.clocks().wait(rank, kCompute, EventId{2});
  EXPECT_FALSE(state.is_ordered(rank, kCompute, written)) << "never recorded";
  state.clocks().record(rank, kReduce, EventId{1}, 6);
  EXPECT_FALSE(state.is_ordered(rank, kCompute, written)) << "recorded, nobody waits";
  state.clocks().wait(rank, kCompute, EventId{1});
  EXPECT_TRUE(state.is_ordered(rank, kCompute, written));
  EXPECT_FALSE(state.is_ordered(Rank{0}, kCompute, written)) << "another rank";
}

TEST(ContentState, AnAtomSettlesForTheStreamThatHasWaited) {
  Plan plan;
  plan.events = 1;
  ContentState state(plan);
  Atom atom{.content = Content::in_flight, .after = Content::valid, .stream = kReduce, .written = 1};
  state.settle(Rank{0}, kCompute, atom);
  EXPECT_EQ(atom.content, Content::in_flight);
  state.clocks().record(Rank{0}, kReduce, EventId{0}, 2);
  state.clocks().wait(Rank{0}, kCompute, EventId{0});
  state.settle(Rank{0}, kCompute, atom);
  EXPECT_EQ(atom.content, Content::valid);
}

TEST(ContentState, EveryClassHasAName) {
  for (int i = 0; i <= static_cast<int>(Content::parked); ++i)
    EXPECT_FALSE(name_of(static_cast<Content>(i)).empty());
  EXPECT_EQ(name_of(Content::valid), "reduced (V)");
}

}  // namespace
}  // namespace shardcheck::tests
