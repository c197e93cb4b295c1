// Golden tables of shard-layouts 3.6.
#include "core/layout/mfsdp_v2_block_atomic.h"

#include <gtest/gtest.h>

#include "core/layout/rejection.h"
#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

struct Case {
  std::vector<std::vector<std::int64_t>> shapes;
  std::int64_t block_rows;
  std::int32_t world;
};

Buffer atomic_buffer(const Case& c) {
  return mfsdp_v2_block_atomic(of_shapes(c.shapes), {.world = c.world, .block_rows = c.block_rows})
      .buffers.at(0);
}

TEST(MfsdpV2BlockAtomic, TwoRowSizes) {
  const Buffer buffer = atomic_buffer({{{64, 2}, {32, 3}}, 32, 2});
  EXPECT_EQ(buffer.chunk, 192);
  EXPECT_EQ(offsets(buffer, 2), (Numbers{0, 192}));
  EXPECT_EQ(buffer.size, 384);
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P0[0:128]@0", "P1[0:96]@0"}));
}

TEST(MfsdpV2BlockAtomic, AnEmptyRank) {
  const Buffer buffer = atomic_buffer({{{64, 4}, {32, 6}}, 32, 3});
  EXPECT_EQ(buffer.chunk, 384);
  EXPECT_EQ(buffer.size, 1152);
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P0[0:256]@0", "P1[0:192]@0", ""}));
}

TEST(MfsdpV2BlockAtomic, SmallBlocks) {
  const Buffer buffer = atomic_buffer({{{4, 3}, {2, 2}, {6, 1}}, 2, 3});
  EXPECT_EQ(buffer.chunk, 12);
  EXPECT_EQ(offsets(buffer, 3), (Numbers{0, 20, 12}));
  EXPECT_EQ(buffer.size, 36);
  EXPECT_EQ(spelled_ranks(buffer), (Strings{"P0[0:12]@0", "P2[0:6]@0 P1[0:4]@8", ""}));
}

TEST(MfsdpV2BlockAtomic, DimensionZeroHasToBeAMultipleOfTheBlock) {
  try {
    atomic_buffer({{{48, 64}}, 32, 2});
    FAIL() << "accepted";
  } catch (const Rejected& rejected) {
    EXPECT_EQ(rejected.reason(), Reason::dim0_not_multiple_of_block);
  }
}

TEST(MfsdpV2BlockAtomic, Mxfp8Planes) {
  const auto parameters = of_shapes({{128, 64}});
  const Buffer buffer = atomic_buffer({{{128, 64}}, 32, 2});
  EXPECT_EQ(buffer.chunk, 2048);
  EXPECT_EQ(buffer.size, 8192);
  const auto scales = mxfp8_scales(buffer, parameters);
  ASSERT_EQ(scales.size(), 1u);
  EXPECT_EQ(scales[0].hi, 256);  // two ranks of [0, 128)
  EXPECT_EQ(scales[0].rowwise, (std::array<std::int64_t, 2>{128, 2}));
  EXPECT_EQ(scales[0].columnwise, (std::array<std::int64_t, 2>{4, 64}));
  EXPECT_EQ(atomic_buffer({{{128, 64}}, 32, 8}).size, 16384);  // four blocks leave ranks 4 to 7 empty
  EXPECT_TRUE(mxfp8_scales(buffer, of_shapes({{128, 65}})).empty());
}

}  // namespace
}  // namespace shardcheck::layout
