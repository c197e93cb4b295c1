// Golden tables of shard-layouts 3.2.
#include "core/layout/megatron_ddp.h"

#include <gtest/gtest.h>

#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

TEST(MegatronDdp, A_TwoAwkwardSizes) {
  const Buffer buffer = megatron_ddp(of_shapes({{97}, {103}}), {.world = 2}).buffers.at(0);
  EXPECT_EQ(offsets(buffer, 2), (Numbers{128, 0}));
  EXPECT_EQ(bucket_ranges(buffer), (Pairs{{0, 256}}));
  EXPECT_EQ(buffer.buckets[0].unpadded, 225);
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P1[0:103]@0", "P0[0:97]@0"}));
}

TEST(MegatronDdp, B_TwoBuckets) {
  const Buffer buffer =
      megatron_ddp(of_shapes({{5000}, {5000}, {5000}}), {.world = 2, .bucket_size = 8000}).buffers.at(0);
  EXPECT_EQ(offsets(buffer, 3), (Numbers{10112, 5056, 0}));
  EXPECT_EQ(bucket_ranges(buffer), (Pairs{{0, 10112}, {10112, 15232}}));
  EXPECT_EQ(spelled(buffer, 0, 0), "P2[0:5000]@0");
  EXPECT_EQ(spelled(buffer, 1, 0), "P1[0:5000]@0");
  EXPECT_EQ(spelled(buffer, 0, 1), "P0[0:2560]@0");
  EXPECT_EQ(spelled(buffer, 1, 1), "P0[2560:5000]@0");
  EXPECT_EQ(buffer.shard(Rank{1}, 1), (Range{12672, 15232}));
}

TEST(MegatronDdp, C_ASharedEmbeddingHasItsOwnBucket) {
  auto parameters = of_shapes({{1000}, {1000}, {70}});
  parameters[1].shared_embedding = true;
  const Buffer buffer = megatron_ddp(parameters, {.world = 2}).buffers.at(0);
  EXPECT_EQ(bucket_ranges(buffer), (Pairs{{0, 128}, {128, 1152}, {1152, 2176}}));
  EXPECT_EQ(buffer.buckets[0].unpadded, 128);  // 70 elements, and alignment padding that counts as unpadded
  EXPECT_EQ(buffer.buckets[1].unpadded, 1000);
  EXPECT_EQ(buffer.buckets[2].unpadded, 1000);
  EXPECT_EQ(spelled(buffer, 0, 0), "P2[0:64]@0");
  EXPECT_EQ(spelled(buffer, 1, 0), "P2[64:70]@0");
  EXPECT_EQ(spelled(buffer, 0, 1), "P1[0:512]@0");
  EXPECT_EQ(spelled(buffer, 1, 1), "P1[512:1000]@0");
  EXPECT_EQ(spelled(buffer, 0, 2), "P0[0:512]@0");
  EXPECT_EQ(spelled(buffer, 1, 2), "P0[512:1000]@0");
}

TEST(MegatronDdp, D_AnEmptyParameterAndSevenRanks) {
  const Buffer buffer = megatron_ddp(of_shapes({{0}, {5}, {300}}), {.world = 7}).buffers.at(0);
  EXPECT_EQ(offsets(buffer, 3), (Numbers{384, 320, 0}));
  EXPECT_EQ(bucket_ranges(buffer), (Pairs{{0, 896}}));
  EXPECT_EQ(buffer.buckets[0].unpadded, 384);
  EXPECT_EQ(spelled_ranks(buffer),
            (Strings{"P2[0:128]@0", "P2[128:256]@0", "P2[256:300]@0 P1[0:5]@64", "", "", "", ""}));
}

TEST(MegatronDdp, E_HighBusBandwidthPadsToTwoToTheSixteen) {
  const Buffer buffer =
      megatron_ddp(of_shapes({{1000}}), {.world = 8, .pad_for_high_bus_bandwidth = true}).buffers.at(0);
  EXPECT_EQ(buffer.size, 65536);
  EXPECT_EQ(spelled(buffer, 0), "P0[0:1000]@0");
  for (std::int32_t rank = 1; rank < 8; ++rank) EXPECT_EQ(buffer.rank_layout(Rank{rank}, 0).pad_numel, 8192);
}

TEST(MegatronDdp, F_OneElementARank) {
  const Buffer buffer = megatron_ddp(of_shapes({{16}}), {.world = 768}).buffers.at(0);
  EXPECT_EQ(buffer.size, 768);
  EXPECT_EQ(spelled(buffer, 15), "P0[15:16]@0");
  EXPECT_EQ(spelled(buffer, 16), "");
  EXPECT_EQ(buffer.rank_layout(Rank{767}, 0).pad_numel, 1);
}

// L26: sizes beyond 2^31 stay exact, and what 64 bits cannot hold is bad input.
TEST(MegatronDdp, WideSizes) {
  const Buffer buffer = megatron_ddp(of_shapes({{std::int64_t{1} << 40}, {3}}), {.world = 2}).buffers.at(0);
  EXPECT_EQ(offsets(buffer, 2), (Numbers{64, 0}));
  EXPECT_EQ(buffer.size, (std::int64_t{1} << 40) + 128);
  EXPECT_THROW(megatron_ddp(of_shapes({{std::int64_t{1} << 62, 4}}), {.world = 2}), Error);
}

}  // namespace
}  // namespace shardcheck::layout
