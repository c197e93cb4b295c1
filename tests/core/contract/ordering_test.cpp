// A race as a finding: the edge and its clause by what the two ops are, and what a person reads.
#include "core/contract/ordering.h"

#include <gtest/gtest.h>

#include "core/plan/builder.h"

namespace shardcheck {
namespace {

constexpr Why because(Purpose purpose) {
  return {.purpose = purpose, .parameter = ParamId{0}};
}

class Ordering : public testing::Test {
 protected:
  BufferId buffer(BufferRole role) { return build.buffer("b", role, DType::f32, 4); }
  static std::string clause_and_edge(const Plan& of) {
    const std::vector<Race> races = races_of(of);
    EXPECT_EQ(races.size(), 1u);
    const RequiredEdge edge = edge_of(of, races.at(0));
    return std::string(edge.id) + " " + std::string(edge.clause);
  }
  std::string clause_and_edge() const { return clause_and_edge(plan); }

  Plan plan{.ranks = 1, .parameters = {{.name = "w0", .rows = 1, .columns = 4}}};
  PlanBuilder build{plan};
  std::vector<Rank> rank{Rank{0}};
};

TEST_F(Ordering, AReductionThatDoesNotWaitForTheWrite) {
  const BufferId b = buffer(BufferRole::main_grad);
  build.op(Fill{1}, because(Purpose::write), Stream::compute, rank).on(build.whole(b));
  build.op(Communicate{}, because(Purpose::reduce), Stream::reduce, rank)
      .on(build.whole(b))
      .on(build.whole(b));
  EXPECT_EQ(clause_and_edge(), "E1 W21");
}

TEST_F(Ordering, AReductionThatDoesNotWaitForTheReplay) {
  const BufferId b = buffer(BufferRole::main_grad);
  build.op(Fill{1}, because(Purpose::write), Stream::graph, rank).on(build.whole(b));
  build.op(Communicate{}, because(Purpose::reduce), Stream::reduce, rank)
      .on(build.whole(b))
      .on(build.whole(b));
  EXPECT_EQ(clause_and_edge(), "E16 W35");
}

TEST_F(Ordering, StaticInputsThatAreOverwrittenUnderAReplay) {
  const BufferId b = buffer(BufferRole::graph_inputs);
  build.op(Copy{}, because(Purpose::write), Stream::graph, rank)
      .on(build.whole(b))
      .on(build.whole(buffer(BufferRole::main_grad)));
  build.op(Fill{1}, because(Purpose::none), Stream::compute, rank).on(build.whole(b));
  EXPECT_EQ(clause_and_edge(), "E16 W35");
}

TEST_F(Ordering, ASlotThatIsStillRead) {
  const BufferId b = buffer(BufferRole::lease_slot);
  build.op(CloseLease{}, {}, Stream::reduce, rank).on(build.whole(b));
  build.op(OpenLease{}, {}, Stream::compute, rank).on(build.whole(b));
  EXPECT_EQ(clause_and_edge(), "E2 W33");
}

TEST_F(Ordering, StorageFreedOnAnotherStream) {
  const BufferId b = buffer(BufferRole::lease_slot);
  build.op(Communicate{}, because(Purpose::reduce), Stream::reduce, rank)
      .on(build.whole(b))
      .on(build.whole(b));
  build.op(CloseLease{}, {}, Stream::compute, rank).on(build.whole(b));
  EXPECT_EQ(clause_and_edge(), "E6 W34");
}

/// An accumulation of the reduced gradient onto a shard of the host, on the stream of reductions.
void move_to_host(PlanBuilder& build, View from, std::span<const Rank> rank) {
  const BufferId shard = build.buffer_on_host("shard", BufferRole::shard, DType::f32, from.numel);
  build.op(Add{}, because(Purpose::accumulate), Stream::reduce, rank).on(from).on(build.whole(shard));
}

TEST_F(Ordering, StorageThatGoesAwayWhileItIsMovedToTheHost) {
  const BufferId b = buffer(BufferRole::lease_slot);
  move_to_host(build, build.whole(b), rank);
  for (const Action& next :
       {Action(CloseLease{}), Action(OpenLease{}), Action(Undefine{}), Action(Fill{0})}) {
    Plan used = plan;
    PlanBuilder(used).op(next, {}, Stream::compute, rank).on(build.whole(b));
    EXPECT_EQ(clause_and_edge(used), "E14 W34") << describe(used, used.ops.back());
  }
}

TEST_F(Ordering, OnlyTheReaderOfTheDeviceMovesToTheHost) {
  const BufferId b = buffer(BufferRole::lease_slot);
  build.op(Communicate{}, because(Purpose::reduce), Stream::compute, rank)
      .on(build.whole(b))
      .on(build.whole(b));
  move_to_host(build, build.whole(b), rank);
  EXPECT_EQ(clause_and_edge(), "E3 W23") << "the move comes too early";
  const BufferId shard{b.value + 1};
  plan.ops.erase(plan.ops.begin());
  build.op(Finish{}, {}, Stream::compute, rank).on(build.whole(shard));
  EXPECT_EQ(clause_and_edge(), "E7 W23") << "bytes of the host race like any other";
}

TEST_F(Ordering, ZeroingUnderAReader) {
  const BufferId b = buffer(BufferRole::main_grad);
  build.op(Finish{}, because(Purpose::none), Stream::reduce, rank).on(build.whole(b));
  build.op(Fill{0}, because(Purpose::zero), Stream::compute, rank).on(build.whole(b));
  EXPECT_EQ(clause_and_edge(), "E8 W6");
}

TEST_F(Ordering, WeightsReadWhileTheyAreGathered) {
  const BufferId b = buffer(BufferRole::codes);
  build.op(Communicate{Collective::all_gather}, because(Purpose::weights), Stream::reduce, rank);
  build.on(build.whole(b)).on(build.whole(b));
  build.op(Copy{}, {}, Stream::compute, rank)
      .on(build.whole(b))
      .on(build.whole(buffer(BufferRole::activations)));
  EXPECT_EQ(clause_and_edge(), "E10 F46");
}

TEST_F(Ordering, WeightsGatheredAgainWhileTheyAreRead) {
  const BufferId b = buffer(BufferRole::codes);
  build.op(Copy{}, because(Purpose::forward), Stream::compute, rank)
      .on(build.whole(b))
      .on(build.whole(buffer(BufferRole::activations)));
  build.op(Communicate{Collective::all_gather}, because(Purpose::weights), Stream::reduce, rank);
  build.on(build.whole(b)).on(build.whole(b));
  EXPECT_EQ(clause_and_edge(), "E11 F46");
}

TEST_F(Ordering, RowsGatheredAgainWhileTheyAreCopiedOut) {
  const BufferId b = buffer(BufferRole::codes);
  build.op(Copy{}, because(Purpose::weights), Stream::compute, rank)
      .on(build.whole(b))
      .on(build.whole(buffer(BufferRole::codes)));
  build.op(Communicate{Collective::all_gather}, because(Purpose::weights), Stream::reduce, rank);
  build.on(build.whole(b)).on(build.whole(b));
  EXPECT_EQ(clause_and_edge(), "E11 F46");
}

TEST_F(Ordering, StagedWeightsTakenOutOfTheGradientBufferTooEarly) {
  const BufferId b = buffer(BufferRole::main_grad);
  build.op(Communicate{Collective::all_gather}, because(Purpose::weights), Stream::reduce, rank);
  build.on(build.whole(b)).on(build.whole(b));
  build.op(Copy{}, because(Purpose::weights), Stream::compute, rank)
      .on(build.whole(b))
      .on(build.whole(buffer(BufferRole::weights)));
  EXPECT_EQ(clause_and_edge(), "E15 W36");
}

TEST_F(Ordering, InputsGivenBackBeforeTheWriteThatReadsThem) {
  const BufferId b = buffer(BufferRole::inputs);
  build.op(Copy{}, because(Purpose::write), Stream::compute, rank)
      .on(build.whole(b))
      .on(build.whole(buffer(BufferRole::main_grad)));
  build.op(Undefine{}, {}, Stream::reduce, rank).on(build.whole(b));
  EXPECT_EQ(clause_and_edge(), "E12 W34");
}

TEST_F(Ordering, TheFindingNamesBothOpsTheBytesAndTheWait) {
  const BufferId b = buffer(BufferRole::main_grad);
  plan.placements.push_back({ParamId{0}, Rank{-1}, build.whole(b), 0});
  build.op(Fill{1}, because(Purpose::write), Stream::compute, rank).on(build.whole(b));
  build.op(Communicate{}, because(Purpose::reduce), Stream::reduce, rank).on({b, 2, 2}).on({b, 2, 2});
  const std::vector<Finding> findings = judge_order(plan);
  ASSERT_EQ(findings.size(), 1u);
  const Finding& finding = findings[0];
  EXPECT_EQ(finding.clause, "W21");
  EXPECT_EQ(finding.op, OpIndex{1});
  EXPECT_EQ(finding.parameter_name, "w0");
  EXPECT_EQ(finding.element, 2);
  EXPECT_EQ(
      finding.sentence,
      "nothing orders it after op 0, which touches b[2:4) too: the reduce stream must wait for the compute "
      "stream here (edge E1), else the reduction reads a gradient that is not whole yet");
  ASSERT_EQ(finding.history.size(), 2u);
  EXPECT_TRUE(finding.history[0].starts_with("op 0 (compute stream), may come late: ")) << finding.history[0];
}

}  // namespace
}  // namespace shardcheck
