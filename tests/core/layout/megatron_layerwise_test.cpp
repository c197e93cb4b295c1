// Golden table of shard-layouts 3.3.
#include "core/layout/megatron_layerwise.h"

#include <gtest/gtest.h>

#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

std::vector<Parameter> layerwise(const std::vector<std::vector<std::int64_t>>& shapes) {
  auto parameters = of_shapes(shapes);
  for (Parameter& parameter : parameters) parameter.layerwise = true;
  return parameters;
}

TEST(MegatronLayerwise, FourEqualMatrices) {
  const Buffer buffer =
      megatron_layerwise(layerwise({{64, 64}, {64, 64}, {64, 64}, {64, 64}}), {.world = 2}).buffers.at(0);
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P3[0:4096]@0 P1[0:4096]@4096", "P2[0:4096]@0 P0[0:4096]@4096"}));
  EXPECT_EQ(pads(buffer), (Numbers{0, 0}));
}

TEST(MegatronLayerwise, BalancedByCost) {
  const Buffer buffer =
      megatron_layerwise(layerwise({{128, 64}, {64, 64}, {32, 64}, {3}}), {.world = 2}).buffers.at(0);
  EXPECT_EQ(buffer.size, 2 * 8192);
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P0[0:8192]@0", "P1[0:4096]@0 P2[0:2048]@4096 P3[0:3]@6144"}));
  EXPECT_EQ(pads(buffer), (Numbers{0, 2045}));
}

TEST(MegatronLayerwise, ASharedEmbeddingIsPaddedOnEveryOtherRank) {
  auto parameters = layerwise({{64, 64}, {64, 32}, {64, 64}});
  parameters[1].shared_embedding = true;
  const Buffer buffer = megatron_layerwise(parameters, {.world = 4}).buffers.at(0);
  EXPECT_EQ(bucket_ranges(buffer), (Pairs{{0, 16384}, {16384, 24576}, {24576, 40960}}));
  EXPECT_EQ(spelled(buffer, 0, 0), "P2[0:4096]@0");
  EXPECT_EQ(spelled(buffer, 0, 1), "P1[0:2048]@0");
  EXPECT_EQ(spelled(buffer, 0, 2), "P0[0:4096]@0");
  for (std::int32_t rank = 1; rank < 4; ++rank) EXPECT_EQ(buffer.rank_layout(Rank{rank}, 1).pad_numel, 2048);
}

TEST(MegatronLayerwise, ABucketClosesWhenTheNextMatrixDoesNotFit) {
  const std::vector<std::int64_t> matrix{96, 64};
  const Buffer buffer = megatron_layerwise(layerwise({matrix, matrix, matrix, matrix, matrix}),
                                           {.world = 4, .bucket_size = 8192})
                            .buffers.at(0);
  EXPECT_EQ(bucket_ranges(buffer), (Pairs{{0, 24576}, {24576, 49152}}));
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P4[0:6144]@0", "P3[0:6144]@0", "P2[0:6144]@0", "P1[0:6144]@0"}));
  EXPECT_EQ(spelled(buffer, 0, 1), "P0[0:6144]@0");
}

TEST(MegatronLayerwise, OtherParametersFollowTheDdpRule) {
  auto parameters = layerwise({{64, 64}, {100}});
  parameters[1].layerwise = false;
  const Layout layout = megatron_layerwise(parameters, {.world = 2});
  ASSERT_EQ(layout.buffers.size(), 2u);
  EXPECT_EQ(layout.buffers[1].size, 128);
}

}  // namespace
}  // namespace shardcheck::layout
