// What the host has read before is never what it reads after the device's memory changed.

#include <cstring>

#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

using MirrorOnGpu = OnGpu;

float read_one(Backend& backend, const Plan& plan, Rank rank, BufferId id, std::int64_t at) {
  float value = 0;
  backend.read(plan, rank, {id, at, 1}, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

TEST_F(MirrorOnGpu, OpsAndWritesAreSeen) {
  const auto cuda = make_cuda_backend(CudaOptions{});
  Plan plan;
  plan.ranks = 4;
  PlanBuilder build(plan);
  const auto ranks = all_ranks(plan);
  const BufferId id = build.buffer("x", BufferRole::main_grad, DType::f32, 1000);
  build.op(Allocate{}, {}, Stream::compute, ranks).on(build.whole(id));
  build.op(Fill{1}, {}, Stream::compute, ranks).on(build.whole(id));
  build.op(Fill{2}, {}, Stream::reduce, ranks).on({id, 500, 500});
  cuda->execute(plan, OpIndex{0}, OpIndex{2});
  for (Rank rank : ranks) EXPECT_EQ(read_one(*cuda, plan, rank, id, 999), 1);
  cuda->execute(plan, OpIndex{2}, OpIndex{3});
  for (Rank rank : ranks) EXPECT_EQ(read_one(*cuda, plan, rank, id, 999), 2);
  const float five = 5;
  cuda->write(plan, Rank{2}, {id, 999, 1}, std::as_bytes(std::span(&five, 1)));
  for (Rank rank : ranks) EXPECT_EQ(read_one(*cuda, plan, rank, id, 999), rank.value == 2 ? 5 : 2);
}

/// More buffers than there is room for at once, read in turns.
TEST_F(MirrorOnGpu, RoomIsUsedAgain) {
  const auto cuda = make_cuda_backend(CudaOptions{});
  Plan plan;
  plan.ranks = 2;
  PlanBuilder build(plan);
  const auto ranks = all_ranks(plan);
  constexpr int kBuffers = 60;  // of 2 x 32,000 bytes
  for (int i = 0; i < kBuffers; ++i) {
    const BufferId id = build.buffer("x" + std::to_string(i), BufferRole::main_grad, DType::f32, 8000);
    build.op(Allocate{}, {}, Stream::compute, ranks).on(build.whole(id));
    build.op(Fill{static_cast<float>(i)}, {}, Stream::compute, ranks).on(build.whole(id));
  }
  cuda->execute(plan, OpIndex{0}, OpIndex{2 * kBuffers});
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kBuffers; ++i) {
      for (Rank rank : ranks) EXPECT_EQ(read_one(*cuda, plan, rank, BufferId{i}, 7999), i);
    }
  }
}

}  // namespace
}  // namespace shardcheck
