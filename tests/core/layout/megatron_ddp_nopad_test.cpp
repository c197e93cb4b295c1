// Golden table of shard-layouts 3.1.
#include "core/layout/megatron_ddp_nopad.h"

#include <gtest/gtest.h>

#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

TEST(MegatronDdpNopad, OneBucketInReverseOrder) {
  const auto parameters = of_shapes({{100, 100}, {50, 50}});
  const Buffer buffer = megatron_ddp_nopad(parameters, {.world = 2}).buffers.at(0);
  EXPECT_EQ(offsets(buffer, 2), (Numbers{2500, 0}));
  EXPECT_EQ(bucket_ranges(buffer), (Pairs{{0, 12500}}));
}

TEST(MegatronDdpNopad, ABucketClosesAfterTheParameterThatCrossesTheLimit) {
  const auto parameters = of_shapes({{100, 100}, {100, 100}, {100, 100}});
  const Buffer buffer = megatron_ddp_nopad(parameters, {.world = 2, .bucket_size = 15000}).buffers.at(0);
  EXPECT_EQ(offsets(buffer, 3), (Numbers{20000, 10000, 0}));
  EXPECT_EQ(bucket_ranges(buffer), (Pairs{{0, 20000}, {20000, 30000}}));
}

TEST(MegatronDdpNopad, AwkwardSizesAreNotAligned) {
  const auto parameters = of_shapes({{97}, {103}});
  const Buffer buffer = megatron_ddp_nopad(parameters, {.world = 2}).buffers.at(0);
  EXPECT_EQ(offsets(buffer, 2), (Numbers{103, 0}));
  EXPECT_EQ(buffer.size, 200);
}

TEST(MegatronDdpNopad, EveryRankHoldsEverything) {
  const auto parameters = of_shapes({{97}, {103}});
  const Buffer buffer = megatron_ddp_nopad(parameters, {.world = 3}).buffers.at(0);
  for (const std::string& rank : spelled_ranks(buffer)) EXPECT_EQ(rank, "P1[0:103]@0 P0[0:97]@103");
}

}  // namespace
}  // namespace shardcheck::layout
