// The common output: cover, overlap and bounds (L1 to L3) by enumeration, for every cut.
#include "core/layout/layout.h"

#include <gtest/gtest.h>

#include "core/layout/fsdp2_per_param.h"
#include "core/layout/megatron_ddp.h"
#include "core/layout/megatron_fsdp_v1.h"
#include "core/layout/mfsdp_v2_tensor_atomic.h"
#include "core/layout/zero3_flat.h"
#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

/// Owners of every element of every parameter of a buffer, counted one by one (the oracle of shard-layouts
/// 4).
std::vector<std::vector<int>> owner_counts(const std::vector<Parameter>& parameters, const Buffer& buffer) {
  std::vector<std::vector<int>> counts;
  for (const Parameter& parameter : parameters) counts.emplace_back(parameter.numel());
  for (std::int32_t rank = 0; rank < buffer.world; ++rank) {
    for (std::int32_t bucket = 0; bucket < static_cast<std::int32_t>(buffer.buckets.size()); ++bucket) {
      const RankLayout local = buffer.rank_layout(Rank{rank}, bucket);
      std::int64_t end = 0;
      for (const Segment& segment : local.segs) {
        EXPECT_GE(segment.off, end) << "L2: two segments of a rank overlap";
        end = segment.off + segment.p_hi - segment.p_lo;
        EXPECT_LE(end, local.buf_numel) << "L3: a segment leaves its shard";
        for (std::int64_t e = segment.p_lo; e < segment.p_hi; ++e) ++counts[segment.param.value][e];
      }
    }
  }
  return counts;
}

void expect_cover(const std::vector<Parameter>& parameters, const Buffer& buffer) {
  for (const auto& counts : owner_counts(parameters, buffer)) {
    EXPECT_EQ(counts, std::vector<int>(counts.size(), 1)) << "L1: an element without exactly one owner";
  }
}

TEST(Layout, EveryElementHasOneOwner) {
  for (const std::int32_t world : {1, 2, 3, 5, 7, 8, 96}) {
    const auto parameters = of_shapes({{5, 3}, {0, 4}, {1}, {7, 12}, {2, 6}, {33}});
    expect_cover(parameters, megatron_ddp(parameters, {.world = world, .bucket_size = 40}).buffers.at(0));
    expect_cover(parameters, megatron_fsdp_v1(parameters, {.world = world}).buffers.at(0));
    expect_cover(parameters, fsdp2_per_param(parameters, {.world = world}).buffers.at(0));
    expect_cover(parameters, zero3_flat(parameters, {.world = world}).buffers.at(0));
    const std::vector<Rank> owners(parameters.size(), Rank{world - 1});
    expect_cover(parameters, mfsdp_v2_tensor_atomic(parameters, owners, world));
  }
}

TEST(Layout, ShardsTileTheirBucket) {
  const Buffer buffer =
      megatron_ddp(of_shapes({{300}, {500}}), {.world = 7, .bucket_size = 400}).buffers.at(0);
  ASSERT_EQ(buffer.buckets.size(), 2u);
  for (std::int32_t bucket = 0; bucket < 2; ++bucket) {
    std::int64_t next = buffer.buckets[bucket].lo;
    for (std::int32_t rank = 0; rank < 7; ++rank) {
      EXPECT_EQ(buffer.shard(Rank{rank}, bucket).lo, next);
      next = buffer.shard(Rank{rank}, bucket).hi;
    }
    EXPECT_EQ(next, buffer.buckets[bucket].hi);
  }
}

TEST(Layout, AnEmptySlotHidesNothing) {
  Buffer buffer{.world = 2, .size = 8, .buckets = {{0, 8, 8}}};
  buffer.slots = {{ParamId{0}, 0, 8, 0, 8}, {ParamId{1}, 0, 0, 0, 0}};
  finish_buffer(buffer);
  EXPECT_EQ(buffer.order, (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P0[0:4]@0", "P0[4:8]@0"}));
  EXPECT_EQ(buffer.find(ParamId{2}), nullptr);
}

TEST(LayoutDeathTest, OverlappingSlotsAreOurMistake) {
  Buffer buffer{.world = 1, .size = 8, .buckets = {{0, 8, 8}}};
  buffer.slots = {{ParamId{0}, 0, 5, 0, 5}, {ParamId{1}, 4, 8, 0, 4}};
  EXPECT_DEATH(finish_buffer(buffer), "overlap");
}

}  // namespace
}  // namespace shardcheck::layout
