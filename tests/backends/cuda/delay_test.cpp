// A stream that is held back: ops of the other streams of the same rank overtake, and only what the plan
// orders stays in order. That a stream is overtaken both ways shows that the two run at once.
#include <chrono>

#include "core/delaying.h"
#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

using std::chrono::microseconds;
constexpr microseconds kLate{3000};
constexpr std::int64_t kNumel = 1000;

/// Whether an event orders the two ops of a plan.
enum class Order { open, by_event };

/// Ops on whole buffers `a` and `b`, the same on every rank.
struct TwoOps {
  explicit TwoOps(std::int32_t ranks) { plan.ranks = ranks; }

  /// Appends `action` on `stream` and returns its place.
  OpIndex op(Action action, Stream stream, std::initializer_list<BufferId> operands) {
    const std::vector<Rank> ranks = all_ranks(plan);
    build.op(action, {}, stream, ranks);
    for (BufferId each : operands) build.on(build.whole(each));
    return OpIndex{static_cast<std::int32_t>(plan.ops.size()) - 1};
  }
  void order(Stream first, Stream second) {
    const EventId event = build.event();
    op(Record{event}, first, {});
    op(Wait{event}, second, {});
  }
  /// a = 1 and b = 0 everywhere, then the plan; b[0] of each rank.
  std::vector<float> run(Backend& backend, const std::optional<Delay>& delay) {
    for (Rank rank : all_ranks(plan)) {
      write(backend, rank, a, 1);
      write(backend, rank, b, 0);
    }
    dynamic_cast<Delaying&>(backend).hold_back(delay);
    backend.execute(plan, OpIndex{0}, OpIndex{static_cast<std::int32_t>(plan.ops.size())});
    dynamic_cast<Delaying&>(backend).hold_back(std::nullopt);
    std::vector<float> values;
    for (Rank rank : all_ranks(plan)) values.push_back(read(backend, rank, b));
    return values;
  }
  void write(Backend& backend, Rank rank, BufferId buffer, float value) {
    const std::vector<float> values(kNumel, value);
    backend.write(plan, rank, build.whole(buffer), std::as_bytes(std::span(values)));
  }
  float read(Backend& backend, Rank rank, BufferId buffer) {
    float value = -1;
    backend.read(plan, rank, {buffer, kNumel - 1, 1}, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }

  Plan plan;
  PlanBuilder build{plan};
  BufferId a = build.buffer("a", BufferRole::inputs, DType::f32, kNumel);
  BufferId b = build.buffer("b", BufferRole::inputs, DType::f32, kNumel);
};

/// b := a on the compute stream, and a := 2 on the reduce stream.
struct CopyAndFill : TwoOps {
  CopyAndFill(std::int32_t ranks, Order order_of_both) : TwoOps(ranks) {
    copy = op(Copy{}, Stream::compute, {a, b});
    if (order_of_both == Order::by_event) order(Stream::compute, Stream::reduce);
    fill = op(Fill{2}, Stream::reduce, {a});
  }
  OpIndex copy, fill;
};

using Delays = OnGpu;

TEST_F(Delays, AStreamIsLateByAtLeastTheLength) {
  const auto backend = make_cuda_backend(one_gpu());
  CopyAndFill both(1, Order::open);
  both.run(*backend, std::nullopt);
  const auto begin = std::chrono::steady_clock::now();
  both.run(*backend, Delay{both.copy, Rank{0}, kLate});
  const auto taken = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(taken, kLate - microseconds(50)) << "the clocks of host and GPU are two";
}

TEST_F(Delays, TwoStreamsOfARankOvertakeEachOtherEitherWay) {
  const auto backend = make_cuda_backend(one_gpu());
  for (std::int32_t ranks : {1, 4, 70}) {
    CopyAndFill both(ranks, Order::open);
    both.run(*backend, std::nullopt);  // kernels are loaded at their first launch
    const auto count = static_cast<std::size_t>(ranks);
    EXPECT_EQ(both.run(*backend, Delay{both.copy, Rank{0}, kLate}), std::vector<float>(count, 2)) << ranks;
    EXPECT_EQ(both.run(*backend, Delay{both.fill, Rank{0}, kLate}), std::vector<float>(count, 1)) << ranks;
  }
}

TEST_F(Delays, AnEventAndOneStreamKeepTheOrder) {
  for (StreamUse use : {StreamUse::as_planned, StreamUse::serialised}) {
    CudaOptions options = one_gpu();
    options.streams = use;
    const auto backend = make_cuda_backend(options);
    CopyAndFill both(4, use == StreamUse::serialised ? Order::open : Order::by_event);
    both.run(*backend, std::nullopt);
    EXPECT_EQ(both.run(*backend, Delay{both.copy, Rank{0}, kLate}), std::vector<float>(4, 1));
  }
}

TEST_F(Delays, AReaderThatDoesNotWaitReadsTooEarly) {
  const auto backend = make_cuda_backend(one_gpu());
  auto& delaying = dynamic_cast<Delaying&>(*backend);
  CopyAndFill both(2, Order::open);
  both.run(*backend, std::nullopt);
  for (Rank rank : all_ranks(both.plan)) both.write(*backend, rank, both.a, 1);
  delaying.hold_back(Delay{both.fill, Rank{0}, kLate});
  backend->execute(both.plan, OpIndex{0}, OpIndex{static_cast<std::int32_t>(both.plan.ops.size())});
  EXPECT_EQ(both.read(*backend, Rank{1}, both.a), 1) << "the compute stream alone is waited for";
  delaying.hold_back(std::nullopt);
  EXPECT_EQ(both.read(*backend, Rank{1}, both.a), 2);
}

/// a := the sum over all ranks on the reduce stream, and b := a on the compute stream.
TEST_F(Delays, ARankThatIsLateKeepsAllOthersOfItsCollectiveWaiting) {
  if (visible_gpus().size() < 2) GTEST_SKIP() << "two GPUs are needed, and this process sees one";
  CudaOptions options;
  options.gpus = 2;
  const auto backend = make_cuda_backend(options);
  for (const Order order : {Order::by_event, Order::open}) {
    TwoOps both(2);
    const OpIndex reduce =
        both.op(Communicate{Collective::all_reduce, Reduction::sum, 2}, Stream::reduce, {both.a, both.a});
    if (order == Order::by_event) both.order(Stream::reduce, Stream::compute);
    both.op(Copy{}, Stream::compute, {both.a, both.b});
    both.run(*backend, std::nullopt);
    for (std::int32_t late : {0, 1}) {
      const float seen = order == Order::by_event ? 2 : 1;
      EXPECT_EQ(both.run(*backend, Delay{reduce, Rank{late}, kLate}), (std::vector<float>{seen, seen}))
          << "rank " << late << " is late";
    }
  }
}

}  // namespace
}  // namespace shardcheck
