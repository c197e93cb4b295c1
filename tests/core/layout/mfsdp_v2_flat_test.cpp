// Golden tables of shard-layouts 3.5.
#include "core/layout/mfsdp_v2_flat.h"

#include <gtest/gtest.h>

#include "core/layout/rejection.h"
#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

Buffer flat_buffer(const std::vector<std::vector<std::int64_t>>& shapes, std::int32_t world) {
  return mfsdp_v2_flat(of_shapes(shapes), {.world = world}).buffers.at(0);
}

TEST(MfsdpV2Flat, A_AFragmentInAGap) {
  const Buffer buffer = flat_buffer({{5, 4}, {2, 6}, {3}}, 2);
  EXPECT_EQ(buffer.chunk, 12);
  EXPECT_EQ(offsets(buffer, 3), (Numbers{0, 24, 20}));
  EXPECT_EQ(buffer.size, 48);
}

TEST(MfsdpV2Flat, B_AConjugate) {
  const Buffer buffer = flat_buffer({{2, 6}, {4, 4}, {4, 4}, {1, 2}, {1, 6}}, 5);
  EXPECT_EQ(offsets(buffer, 5), (Numbers{0, 12, 32, 28, 48}));
  EXPECT_EQ(buffer.size, 60);
}

TEST(MfsdpV2Flat, C_AFragmentStartsAtItsRow) {
  const Buffer buffer = flat_buffer({{4, 4}, {1, 6}}, 2);
  EXPECT_EQ(offsets(buffer, 2), (Numbers{0, 18}));
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P0[0:12]@0", "P0[12:16]@0 P1[0:6]@6"}));
}

TEST(MfsdpV2Flat, D_AwkwardRows) {
  const Buffer buffer = flat_buffer({{7, 3}, {2, 5}, {7}}, 4);
  EXPECT_EQ(buffer.chunk, 15);
  EXPECT_EQ(offsets(buffer, 3), (Numbers{0, 30, 21}));
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P0[0:15]@0", "P0[15:21]@0 P2[0:7]@6", "P1[0:10]@0", ""}));
}

TEST(MfsdpV2Flat, E_RegistrationOrder) {
  const Buffer buffer = flat_buffer({{5, 4}, {4, 4}, {3, 6}, {1, 2}}, 3);
  EXPECT_EQ(offsets(buffer, 4), (Numbers{0, 20, 36, 54}));
  EXPECT_EQ(buffer.size, 72);
  EXPECT_EQ(spelled_ranks(buffer),
            (Strings{"P0[0:20]@0 P1[0:4]@20", "P1[4:16]@0 P2[0:12]@12", "P2[12:18]@0 P3[0:2]@6"}));
}

TEST(MfsdpV2Flat, F_HfsdpRanges) {
  const Buffer buffer = flat_buffer({{6, 4}, {4, 6}}, 4);
  EXPECT_EQ(buffer.size, 48);
  const Range optimizer[2][2] = {{{0, 12}, {24, 36}}, {{12, 24}, {36, 48}}};
  const Range parameter[2] = {{0, 24}, {24, 48}};
  for (std::int32_t o = 0; o < 2; ++o) {
    for (std::int32_t i = 0; i < 2; ++i) {
      const MeshAxis flat_flat[] = {{2, o, true}, {2, i, true}};
      const MeshAxis replicate_flat[] = {{2, o, false}, {2, i, true}};
      EXPECT_EQ(mesh_range(buffer.size, flat_flat), optimizer[o][i]);
      EXPECT_EQ(mesh_range(buffer.size, replicate_flat), parameter[i]);
    }
  }
}

TEST(MfsdpV2Flat, TailFragmentsKeepTheirRows) {  // what v1 gets wrong, B15
  EXPECT_EQ(offsets(flat_buffer({{1, 3}, {2, 2}}, 2), 2), (Numbers{6, 0}));
}

TEST(MfsdpV2Flat, Rejections) {
  const auto reason = [](std::vector<std::int64_t> shape) {
    try {
      flat_buffer({std::move(shape)}, 2);
    } catch (const Rejected& rejected) {
      return rejected.reason();
    }
    return Reason::mixed_dtype;
  };
  EXPECT_EQ(reason({}), Reason::zero_dim_tensor);
  EXPECT_EQ(reason({4, 0}), Reason::zero_row_size);
}

TEST(MfsdpV2Flat, UpstreamTakesAnEmptyTensorForAnOverlap) {  // B17: the layout is right and accepted
  EXPECT_TRUE(upstream_sees_false_overlap(flat_buffer({{3, 1}, {1, 2}, {0, 2}}, 1)));
  EXPECT_FALSE(upstream_sees_false_overlap(flat_buffer({{3, 1}, {1, 2}}, 1)));
}

}  // namespace
}  // namespace shardcheck::layout
