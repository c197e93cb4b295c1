// Golden tables of shard-layouts 3.4.
#include "core/layout/megatron_fsdp_v1.h"

#include <gtest/gtest.h>

#include "core/layout/rejection.h"
#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

Buffer packed_buffer(const std::vector<std::vector<std::int64_t>>& shapes, std::int32_t world) {
  return megatron_fsdp_v1(of_shapes(shapes), {.world = world}).buffers.at(0);
}

// Table (a) shows step 4 alone, in registration order (see gap_packing_test.cpp); step 3 walks the wider row
// first.
TEST(MegatronFsdpV1, A_AFragmentInAGap) {
  const Buffer buffer = packed_buffer({{5, 4}, {2, 6}, {3}}, 2);
  EXPECT_EQ(buffer.chunk, 12);
  EXPECT_EQ(offsets(buffer, 3), (Numbers{12, 0, 32}));
  EXPECT_EQ(buffer.size, 48);
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P1[0:12]@0 P0[0:12]@12", "P0[12:20]@0 P2[0:3]@8"}));
}

TEST(MegatronFsdpV1, B_AConjugate) {
  const Buffer buffer = packed_buffer({{2, 6}, {4, 4}, {4, 4}, {1, 2}, {1, 6}}, 5);
  EXPECT_EQ(buffer.chunk, 12);
  EXPECT_EQ(offsets(buffer, 5), (Numbers{0, 12, 32, 28, 48}));
  EXPECT_EQ(buffer.size, 60);
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P0[0:12]@0", "P1[0:12]@0", "P1[12:16]@0 P3[0:2]@4 P2[0:4]@8",
                                            "P2[4:16]@0", "P4[0:6]@0"}));
}

TEST(MegatronFsdpV1, C_RowsDescending) {
  const Buffer buffer = packed_buffer({{5, 4}, {4, 4}, {3, 6}, {1, 2}}, 3);
  EXPECT_EQ(offsets(buffer, 4), (Numbers{36, 20, 0, 18}));
  EXPECT_EQ(buffer.size, 72);
  EXPECT_EQ(spelled_ranks(buffer),
            (Strings{"P2[0:18]@0 P3[0:2]@18 P1[0:4]@20", "P1[4:16]@0 P0[0:12]@12", "P0[12:20]@0"}));
}

TEST(MegatronFsdpV1, D_FourGroups) {
  auto parameters = of_shapes({{8, 4}, {8}, {4, 8}, {3}, {6, 4}, {4}});
  parameters[3].requires_grad = false;
  parameters[4].expert = is_expert_name("mlp.experts.w");
  parameters[5].dtype = DType::f32;
  const Layout layout = megatron_fsdp_v1(parameters, {.world = 2});
  ASSERT_EQ(layout.buffers.size(), 4u);
  EXPECT_EQ(layout.buffers[0].chunk, 8);
  EXPECT_EQ(layout.buffers[0].size, 80);
  EXPECT_EQ(spelled_ranks(layout.buffers[0]), (Strings{"P2[0:32]@0 P0[0:8]@32", "P0[8:32]@0 P1[0:8]@24"}));
  EXPECT_EQ(layout.buffers[1].chunk, 1);
  EXPECT_EQ(spelled_ranks(layout.buffers[1]), (Strings{"P3[0:2]@0", "P3[2:3]@0"}));
  EXPECT_EQ(layout.buffers[2].chunk, 4);
  EXPECT_TRUE(layout.buffers[2].key.expert);
  EXPECT_EQ(layout.buffers[3].chunk, 1);
}

TEST(MegatronFsdpV1, E_FewerRowsThanRanks) {
  const Buffer buffer = packed_buffer({{3, 8}, {8}}, 8);
  EXPECT_EQ(offsets(buffer, 2), (Numbers{0, 24}));
  EXPECT_EQ(buffer.size, 64);
  EXPECT_EQ(spelled_ranks(buffer),
            (Strings{"P0[0:8]@0", "P0[8:16]@0", "P0[16:24]@0", "P1[0:8]@0", "", "", "", ""}));
}

TEST(MegatronFsdpV1, F_ATailFragmentIsCutInsideARow) {  // B15, reproduced
  const Buffer buffer = packed_buffer({{1, 3}, {2, 2}}, 2);
  EXPECT_EQ(buffer.chunk, 6);
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P0[0:3]@0 P1[0:3]@3", "P1[3:4]@0"}));
}

TEST(MegatronFsdpV1, G_HfsdpShardIsInnerMajor) {
  EXPECT_EQ(hfsdp_shard({.outer = 0, .inner = 0}, 2), Rank{0});
  EXPECT_EQ(hfsdp_shard({.outer = 0, .inner = 1}, 2), Rank{2});
  EXPECT_EQ(hfsdp_shard({.outer = 1, .inner = 0}, 2), Rank{1});
  EXPECT_EQ(hfsdp_shard({.outer = 1, .inner = 1}, 2), Rank{3});
}

// shard-layouts 2.5: C is not monotone (B16), and rows of small tensors are ignored.
TEST(MegatronFsdpV1, ChunkFactorQuirks) {
  EXPECT_EQ(packed_buffer({{2, 5}, {2, 3}, {3, 6}}, 1).chunk, 30);
  EXPECT_EQ(packed_buffer({{2, 5}, {2, 3}, {3, 6}, {3, 8}}, 1).chunk, 24);
  EXPECT_EQ(packed_buffer({{1, 18432}, {1, 16384}, {2, 7168}, {3, 512}}, 1).chunk, 18432);
}

TEST(MegatronFsdpV1, VirtualShardsOfNoShardDoNotCover) {  // B18, reproduced
  const Buffer buffer =
      megatron_fsdp_v1(of_shapes({{7}}), {.world = 2, .strategy = FsdpStrategy::no_shard}).buffers.at(0);
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P0[0:3]@0", "P0[3:6]@3"}));
}

TEST(MegatronFsdpV1, AZeroRowIsRejected) {
  try {
    packed_buffer({{2}, {4, 0}}, 2);
    FAIL() << "accepted";
  } catch (const Rejected& rejected) {
    EXPECT_EQ(rejected.reason(), Reason::zero_row_size);
    EXPECT_NE(std::string(rejected.what()).find("P1"), std::string::npos);
  }
}

}  // namespace
}  // namespace shardcheck::layout
