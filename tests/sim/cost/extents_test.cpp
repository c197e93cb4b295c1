// What a rank keeps, and what it holds beside that while a step runs.
#include "sim/cost/extents.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/cost/planned_job.h"

namespace shardcheck::cost {
namespace {

double largest(const StepJob& job) {
  std::int64_t most = 0;
  for (const Piece& piece : job.pieces) most = std::max(most, piece.whole);
  return static_cast<double>(most);
}

TEST(Extents, LeasesAndStagingAreBesideWhatIsKept) {
  PlannedJob leases("megatron-fsdp-v1/optim_grads", layout::mesh_of(8));
  leases.job().slots = 3;
  const StepMemory m = memory_of(leases.job());
  EXPECT_EQ(m.leases, 3 * largest(leases.job()) * 2);
  EXPECT_EQ(m.staging, 0);
  EXPECT_EQ(m.autograd, 0);
  PlannedJob persistent("megatron-ddp", layout::mesh_of(8));
  const StepMemory p = memory_of(persistent.job());
  EXPECT_EQ(p.staging, p.gradients / 2);  // bf16 beside f32
  EXPECT_EQ(p.peak(), p.kept() + p.staging);
  persistent.job().widths.gradient_wire = 4;
  EXPECT_EQ(memory_of(persistent.job()).staging, 0);
  PlannedJob autograd("fsdp2", layout::mesh_of(8));
  // Table and head belong together, so that both gradients wait for the last one.
  EXPECT_EQ(plan_step(autograd.job(), nullptr).memory.autograd, 2 * 2 * 96 * 16);
}

TEST(Extents, AtMostTwoUnitsAreGatheredBesideTheRoot) {
  PlannedJob planned("megatron-fsdp-v2", layout::mesh_of(8));
  double root = 0, unit = 0;
  for (const Piece& piece : planned.job().pieces) {
    double& of =
        planned.job().parameters[static_cast<std::size_t>(piece.tensors[0].value)].unit ? unit : root;
    of = std::max(of, static_cast<double>(piece.whole));
  }
  EXPECT_EQ(plan_step(planned.job(), nullptr).memory.gathered, 2 * (root + 2 * unit));
  planned.job().reshards = false;
  EXPECT_EQ(plan_step(planned.job(), nullptr).memory.gathered, 2 * (root + 4 * unit));
  PlannedJob alone("megatron-fsdp-v2", layout::mesh_of(1));
  EXPECT_EQ(plan_step(alone.job(), nullptr).memory.gathered, 0);
}

TEST(Extents, AnOuterAxisThatShardsCutsTheOptimizerOnly) {
  using layout::AxisUse;
  PlannedJob planned("megatron-fsdp-v2", {{{"outer", 2, AxisUse::shard}, {"inner", 4, AxisUse::shard}}});
  for (const Piece& piece : planned.job().pieces) {
    EXPECT_EQ(piece.own * 8, piece.whole);
    EXPECT_EQ(weight_extent(planned.job(), piece) * 4, piece.whole);
    EXPECT_EQ(gradient_extent(planned.job(), piece) * 4, piece.whole);
  }
}

}  // namespace
}  // namespace shardcheck::cost
