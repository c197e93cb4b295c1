// Streams and events: a wait orders two streams, a write comes between earlier and later ops of every stream.
#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

using Ordering = OnGpu;
constexpr std::int64_t kNumel =
    1 << 20;  ///< long enough that an op is still running when the next is enqueued

/// A chain that alternates between the streams, each link waiting for the one before.
TEST_F(Ordering, WaitsOrderTheStreams) {
  for (StreamUse use : {StreamUse::as_planned, StreamUse::serialised}) {
    CudaOptions options;
    options.streams = use;
    Twins twins(options, kHopper);
    RandomNumbers random(41);
    Plan plan;
    plan.ranks = 4;
    PlanBuilder build(plan);
    const auto ranks = all_ranks(plan);
    const BufferId a = build.buffer("a", BufferRole::inputs, DType::f32, kNumel);
    const BufferId b = build.buffer("b", BufferRole::inputs, DType::f32, kNumel);
    Stream stream = Stream::compute;
    for (int i = 0; i < 40; ++i) {
      build.op(Add{}, {}, stream, ranks)
          .on(build.whole(i % 2 == 0 ? a : b))
          .on(build.whole(i % 2 == 0 ? b : a));
      build.op(Scale{0.375f}, {}, stream, ranks).on(build.whole(a));
      const EventId event = build.event();
      build.op(Record{event}, {}, stream, ranks);
      stream = stream == Stream::compute ? Stream::reduce : Stream::compute;
      build.op(Wait{event}, {}, stream, ranks);
    }
    twins.write_all(plan, random, 4, Corners::finite);
    twins.expect_equal_after(plan, NanCodes::compared);
  }
}

TEST_F(Ordering, WritesComeBetweenOpsOfEveryStream) {
  Twins twins(CudaOptions{}, kHopper);
  RandomNumbers random(42);
  Plan plan;
  plan.ranks = 2;
  PlanBuilder build(plan);
  const auto ranks = all_ranks(plan);
  const BufferId a = build.buffer("a", BufferRole::inputs, DType::f32, kNumel);
  const BufferId b = build.buffer("b", BufferRole::inputs, DType::f32, kNumel);
  for (int i = 0; i < 8; ++i) {
    build.op(Scale{1.5f}, {}, i % 2 == 0 ? Stream::reduce : Stream::compute, ranks).on(build.whole(a));
    build.op(Scale{1.5f}, {}, i % 2 == 0 ? Stream::reduce : Stream::compute, ranks).on(build.whole(b));
  }
  twins.write_all(plan, random, 4, Corners::finite);
  for (std::int32_t i = 0; i < 16; ++i) {
    twins.execute(plan, OpIndex{i}, OpIndex{i + 1});
    twins.write(plan, Rank{i % 2}, {i % 3 == 0 ? a : b, i * 1000, 5000},
                random.bytes(DType::f32, 5000, 4, Corners::finite));
    // The next op runs on the other stream now and then, and only the write orders it after this one.
    for (Rank rank : ranks)
      twins.write(plan, rank, {a, 0, 1}, random.bytes(DType::f32, 1, 4, Corners::finite));
  }
  twins.expect_equal(plan, NanCodes::compared);
}

}  // namespace
}  // namespace shardcheck
