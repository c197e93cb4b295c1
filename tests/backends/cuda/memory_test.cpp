// Buffers across plans: poison of what is allocated, inputs that live on, sizes that change, writes of a
// part, buffers in memory of the host.
#include "backends/cuda/memory.h"

#include <cstring>

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

/// What a step does with reduced gradients that are moved to the host, over buffers of one id that lie on the
/// device in one plan and on the host in the next.
TEST_F(MemoryOnGpu, BuffersOnTheHostHoldWhatTheyWouldOnTheDevice) {
  Twins twins(CudaOptions{}, kHopper);
  RandomNumbers random(33);
  for (int i = 0; i < 24; ++i) {
    Plan plan;
    plan.ranks = 1 + static_cast<int>(random.below(9));
    plan.poison = i % 2 == 0 ? Poison::quiet_nan : Poison::large;
    PlanBuilder build(plan);
    const auto ranks = all_ranks(plan);
    const auto numel = static_cast<std::int64_t>(1 + random.below(i % 6 == 0 ? 300'000 : 500));
    const bool on_host = i % 3 != 0;
    const auto kept = [&](const char* name, BufferRole role, std::int64_t size) {
      return on_host ? build.buffer_on_host(name, role, DType::f32, size)
                     : build.buffer(name, role, DType::f32, size);
    };
    const BufferId reduced = build.buffer("reduced", BufferRole::inputs, DType::bf16, numel);
    const BufferId shard = kept("shard", BufferRole::shard, numel + 5);
    const BufferId master = kept("master", BufferRole::master, numel);
    const View sum{shard, 3, numel};
    for (BufferId id : {shard, master}) build.op(Allocate{}, {}, Stream::compute, ranks).on(build.whole(id));
    build.op(Fill{0.25f}, {}, Stream::compute, ranks).on(build.whole(master));
    build.op(Copy{}, {}, Stream::reduce, ranks).on(build.whole(reduced)).on(sum);
    build.op(Add{}, {}, Stream::reduce, ranks).on(build.whole(reduced)).on(sum);
    const EventId moved = build.event();
    build.op(Record{moved}, {}, Stream::reduce, ranks);
    build.op(Wait{moved}, {}, Stream::compute, ranks);
    build.op(Scale{0.375f}, {}, Stream::compute, ranks).on(sum);
    build.op(SgdStep{0.5f}, {}, Stream::compute, ranks).on(sum).on(build.whole(master));
    for (Rank rank : ranks)
      twins.write(plan, rank, build.whole(reduced), random.bytes(DType::bf16, numel, 4, Corners::finite));
    twins.expect_equal_after(plan, NanCodes::compared);
    const auto bytes = random.bytes(DType::f32, 1, 4, Corners::all);
    twins.write(plan, Rank{plan.ranks - 1}, {shard, 3 + numel / 2, 1}, bytes);
    twins.expect_equal(plan, NanCodes::compared);
    if (HasFailure()) return;
  }
}

/// All copies of a parameter are summed where they lie.
TEST_F(MemoryOnGpu, BuffersOnTheHostAreReducedOverRanks) {
  Twins twins(one_gpu(), kHopper);
  RandomNumbers random(34);
  Plan plan;
  plan.ranks = 4;
  PlanBuilder build(plan);
  const auto ranks = all_ranks(plan);
  const BufferId shard = build.buffer_on_host("shard", BufferRole::inputs, DType::f32, 1001);
  build.op(Communicate{Collective::all_reduce, Reduction::sum, 2}, {}, Stream::compute, ranks)
      .on(build.whole(shard))
      .on(build.whole(shard));
  twins.write_all(plan, random, 4, Corners::finite);
  twins.expect_equal_after(plan, NanCodes::compared);
}

/// The host reads and writes at the very addresses that kernels are given.
TEST_F(MemoryOnGpu, BuffersOnTheHostLieThere) {
  gpu::Machine machine(one_gpu());
  gpu::Memory memory(machine);
  Plan plan;
  plan.ranks = 2;
  PlanBuilder build(plan);
  const BufferId id = build.buffer_on_host("shard", BufferRole::shard, DType::f32, 1000);
  memory.allocate(plan, Rank{1}, id);
  const gpu::Range range = memory.at(plan, Rank{1}, {id, 500, 2});
  const float values[] = {3, 5};
  std::memcpy(range.data, values, sizeof values);
  float read = 0;
  SC_CHECK(cudaMemcpy(&read, range.data + sizeof read, sizeof read, cudaMemcpyDefault));
  EXPECT_EQ(read, 5);
}

}  // namespace
}  // namespace shardcheck
