// Streams in order, events across them, collectives when all have come, and what an op costs.
#include "sim/cost/timeline.h"

#include <gtest/gtest.h>

#include "core/plan/builder.h"

namespace shardcheck::cost {
namespace {

/// Round numbers: an op takes a second, and a byte one more.
constexpr Gpu kSlow{.launch = 1,
                    .bytes_per_second = 1,
                    .flops_16bit = 1,
                    .flops_8bit = 2,
                    .collective = 10,
                    .link_bytes_per_second = 4,
                    .host_bytes_per_second = 0.25};

class Timelines : public testing::Test {
 protected:
  void fill(std::int64_t numel, Stream stream, std::span<const Rank> ranks) {
    build.op(Fill{}, {}, stream, ranks).on({b, 0, numel});
  }

  Plan plan{.ranks = 2};
  PlanBuilder build{plan};
  std::vector<Rank> both{Rank{0}, Rank{1}}, zero{Rank{0}};
  BufferId b = build.buffer("b", BufferRole::main_grad, DType::e4m3, 64);
};

TEST_F(Timelines, AStreamIsInOrderAndTwoStreamsAreNot) {
  fill(4, Stream::compute, zero);
  fill(2, Stream::compute, zero);
  fill(1, Stream::reduce, zero);
  const auto spans = timeline_of(plan, kSlow);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].end, 5);
  EXPECT_EQ(spans[1].begin, 5);
  EXPECT_EQ(spans[1].end, 8);
  EXPECT_EQ(spans[2].begin, 0);
}

TEST_F(Timelines, AWaitIsForTheRecord) {
  const EventId event = build.event();
  fill(4, Stream::compute, zero);
  build.op(Record{event}, {}, Stream::compute, zero);
  fill(9, Stream::compute, zero);
  build.op(Wait{event}, {}, Stream::reduce, zero);
  fill(1, Stream::reduce, zero);
  EXPECT_EQ(timeline_of(plan, kSlow).back().begin, 5);
}

TEST_F(Timelines, ACollectiveBeginsWhenItsGroupIsThere) {
  fill(4, Stream::compute, zero);
  build.op(Communicate{.group = 2}, {}, Stream::compute, both).on({b, 0, 8}).on({b, 0, 8});
  const auto spans = timeline_of(plan, kSlow);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[1].begin, 5);
  EXPECT_EQ(spans[2].begin, 5);
  EXPECT_EQ(spans[2].end, 5 + 10 + 2 * 0.5 * 8 / 4);  // an all-reduce: twice (W - 1) / W of the bytes
}

TEST_F(Timelines, AnInstantIsWhereTheOpBeforeItEnds) {
  fill(4, Stream::compute, both);
  build.op(CloseLease{}, {}, Stream::compute, both).on({b, 0, 4});
  fill(2, Stream::compute, zero);
  auto spans = timeline_of(plan, kSlow);
  ASSERT_EQ(spans.size(), 3u);
  add_instants(plan, {OpIndex{-1}, OpIndex{0}, OpIndex{1}}, spans);
  ASSERT_EQ(spans.size(), 5u);
  for (const std::size_t i : {2, 3}) {
    EXPECT_EQ(spans[i].op, OpIndex{1});
    EXPECT_EQ(spans[i].begin, spans[0].end);
    EXPECT_EQ(spans[i].end, spans[0].end);
  }
  EXPECT_EQ(spans[4].op, OpIndex{2});
}

TEST_F(Timelines, AMoveToTheHostTakesItsLink) {
  const BufferId h = build.buffer_on_host("h", BufferRole::shard, DType::e4m3, 8);
  build.op(Copy{}, {}, Stream::compute, zero).on({b, 0, 8}).on(build.whole(h));
  EXPECT_EQ(seconds_of(plan, plan.ops.back(), kSlow), 1 + 8 / 0.25);
  build.op(Add{}, {}, Stream::compute, zero).on({b, 0, 8}).on(build.whole(h));
  EXPECT_EQ(seconds_of(plan, plan.ops.back(), kSlow), 1 + 16 / 0.25) << "read and written";
}

TEST_F(Timelines, AProductCostsItsFlopsOrItsBytes) {
  build.op(Gemm{.tokens = 100, .rows = 2, .columns = 2}, {}, Stream::compute, zero);
  build.on({b, 0, 4}).on({b, 0, 4}).on({b, 8, 4});
  EXPECT_EQ(seconds_of(plan, plan.ops.back(), kSlow), 1 + 2 * 100 * 2 * 2);
}

}  // namespace
}  // namespace shardcheck::cost
