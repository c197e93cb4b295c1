// Which parameters share a DDP buffer (shard-layouts 2.2).
#include "core/layout/megatron_ddp_groups.h"

#include <gtest/gtest.h>

#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

TEST(MegatronDdpGroups, KeysInOrderOfFirstAppearance) {
  auto parameters = of_shapes({{1}, {2}, {3}, {4}, {5}, {6}});
  parameters[1].expert = true;
  parameters[2].requires_grad = false;
  parameters[3].quantized = Quantized::fp8;
  parameters[4].tied_to = ParamId{0};
  const auto groups = group_for_ddp(parameters, {.world = 8, .expert_world = 2, .grad_reduce_in_f32 = true});
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].params, (std::vector<ParamId>{ParamId{0}, ParamId{5}}));
  EXPECT_EQ(groups[0].key.gradient, DType::f32);
  EXPECT_TRUE(groups[1].key.expert);
  EXPECT_EQ(groups[1].world, 2);
  EXPECT_EQ(groups[2].key.storage, DType::u8);
  EXPECT_EQ(groups[2].world, 8);
}

TEST(MegatronDdpGroups, GranularityOfABucketEnd) {
  EXPECT_EQ(ddp_bucket_granularity(7, {}), 896);
  EXPECT_EQ(ddp_bucket_granularity(96, {}), 384);
  EXPECT_EQ(ddp_bucket_granularity(96, {.pad_for_high_bus_bandwidth = true}), 196608);
}

// shard-layouts 2.3: D / W, the shard granularity, shrinks with W.
TEST(MegatronDdpGroups, ShardGranularityTable) {
  const std::pair<std::int32_t, std::int64_t> table[] = {{2, 64}, {8, 16},  {16, 8},   {64, 2},
                                                         {96, 4}, {128, 1}, {1024, 1}, {100000, 4}};
  for (const auto& [world, elements] : table) EXPECT_EQ(ddp_bucket_granularity(world, {}) / world, elements);
}

}  // namespace
}  // namespace shardcheck::layout
