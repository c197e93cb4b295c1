// Buffers across plans: poison of what is allocated, inputs that live on, sizes that change, writes of a
// part.
#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

using MemoryOnGpu = OnGpu;

TEST_F(MemoryOnGpu, PlansOfChangingSizesKeepTheirBytesApart) {
  Twins twins(CudaOptions{}, kHopper);
  RandomNumbers random(31);
  for (int i = 0; i < 60; ++i) {
    Plan plan;
    plan.ranks = 1 + static_cast<int>(random.below(9));
    plan.poison = i % 2 == 0 ? Poison::quiet_nan : Poison::large;
    PlanBuilder build(plan);
    const auto ranks = all_ranks(plan);
    const auto numel = static_cast<std::int64_t>(1 + random.below(i % 10 == 0 ? 3'000'000 : 500));
    const BufferId input = build.buffer("input", BufferRole::inputs, DType::bf16, numel);
    const BufferId sum = build.buffer("sum", BufferRole::main_grad, DType::f32, numel + 5);
    build.op(Allocate{}, {}, Stream::compute, ranks).on(build.whole(sum));
    build.op(Copy{}, {}, Stream::reduce, ranks).on(build.whole(input)).on({sum, 3, numel});
    for (Rank rank : ranks) {
      const auto bytes = random.bytes(DType::bf16, numel, 4, Corners::all);
      twins.write(plan, rank, build.whole(input), bytes);
    }
    twins.expect_equal_after(plan, NanCodes::compared);
    if (HasFailure()) return;
  }
}

/// A write of a part makes the rest of a new buffer poison, and an input outlives its plan.
TEST_F(MemoryOnGpu, PartsAreWrittenIntoPoison) {
  Twins twins(one_gpu(), kHopper);
  RandomNumbers random(32);
  Plan plan;
  plan.ranks = 2;
  PlanBuilder build(plan);
  const BufferId input = build.buffer("input", BufferRole::inputs, DType::f16, 33);
  for (Rank rank : all_ranks(plan)) {
    twins.write(plan, rank, {input, 7, 5}, random.bytes(DType::f16, 5, 4, Corners::all));
  }
  twins.expect_equal_after(plan, NanCodes::compared);
  twins.expect_equal_after(plan, NanCodes::compared);
}

}  // namespace
}  // namespace shardcheck
