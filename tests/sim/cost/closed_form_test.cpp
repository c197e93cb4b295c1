// A planned step comes to the bytes and seconds of the tables of shard-layouts 5, op by op, for every system.
#include "sim/cost/closed_form.h"

#include <gtest/gtest.h>

#include "tests/sim/cost/planned_job.h"

namespace shardcheck::cost {
namespace {

using layout::AxisUse;
using layout::Mesh;

double in_collectives(const StepJob& job) {
  double seconds = 0;
  plan_step(job, [&](const StepOp& op) { seconds += op.ranks > 1 ? op.seconds : 0; });
  return seconds;
}

void expect_closed(PlannedJob& planned, Strategy strategy) {
  const StepJob& job = planned.job();
  for (const std::int32_t rank : {0, planned.mesh().ranks() / 2, planned.mesh().ranks() - 1}) {
    planned.see_from(Rank{rank});
    const ClosedForm closed = closed_form(job);
    const StepFigures figures = plan_step(job, nullptr);
    const std::string where = std::string(job.system->name) + " on " +
                              std::to_string(planned.mesh().ranks()) + ", rank " + std::to_string(rank);
    EXPECT_EQ(closed.strategy, strategy) << where;
    EXPECT_GT(closed.kept, 0) << where;
    EXPECT_TRUE(agrees(figures.memory.kept(), closed.kept)) << where;
    EXPECT_TRUE(agrees(figures.sent, closed.sent)) << where << ": " << figures.sent << ", " << closed.sent;
    EXPECT_TRUE(agrees(in_collectives(job), closed.collectives)) << where;
  }
}

TEST(ClosedForm, IsWhatEverySystemComesToAtEveryWorldSize) {
  for (const System& system : systems()) {
    for (const std::int32_t world : {1, 2, 3, 8, 24, 64, 1000, 16384}) {
      PlannedJob planned(system.name, layout::mesh_of(world));
      planned.job().microbatches = 3;
      expect_closed(planned, closed_form_of(system, OuterAxis::none));
    }
  }
}

TEST(ClosedForm, IsWhatHybridMeshesComeTo) {
  const Mesh hsdp{{{"replicate", 6, AxisUse::replicate}, {"dp", 16, AxisUse::shard}}};
  const Mesh hfsdp{{{"outer", 4, AxisUse::shard}, {"inner", 8, AxisUse::shard}}};
  for (const std::string_view name : {"megatron-fsdp-v1/optim_grads_params", "megatron-fsdp-v2", "fsdp2"}) {
    PlannedJob copies(name, hsdp);
    copies.job().microbatches = 2;
    expect_closed(copies, Strategy::hsdp);
    if (name == "fsdp2") continue;  // it shards along one axis
    PlannedJob shards(name, hfsdp);
    shards.job().microbatches = 2;
    expect_closed(shards, Strategy::hfsdp);
  }
  PlannedJob ddp("megatron-ddp", hsdp);
  expect_closed(ddp, Strategy::ddp);
}

TEST(ClosedForm, KnowsWidthsAndWeightsThatStay) {
  for (const System& system : systems()) {
    PlannedJob planned(system.name, layout::mesh_of(16));
    planned.job().microbatches = 2;
    planned.job().reshards = false;
    planned.job().widths = {
        .weight = 2.0625, .gradient = 2, .optimizer = 8, .weight_wire = 1.03125, .gradient_wire = 4};
    expect_closed(planned, closed_form_of(system, OuterAxis::none));
  }
}

TEST(ClosedForm, DiffersWhereAByteIsMissing) {
  EXPECT_TRUE(agrees(1e12, 1e12 * (1 + 1e-14)));
  EXPECT_FALSE(agrees(1e12 - 4, 1e12));
  EXPECT_TRUE(agrees(0, 0));
  EXPECT_FALSE(agrees(1, 0));
  EXPECT_EQ(find_system("zero-9"), nullptr);
}

}  // namespace
}  // namespace shardcheck::cost
