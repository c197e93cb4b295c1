// Planes of scales: padded sizes (F35, Q22, Q24), the swizzle as a bijection (F36, Q58), packing (F13).
#include "core/recipe/storage.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "core/recipe/catalogue.h"

namespace shardcheck::recipe {
namespace {

ScalePlane numbered(FormatId format, const ScaleStorage& storage, Extent grid) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(grid.numel()));
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint32_t>(i % 251 + 1);
  return scale_plane(format, storage, {grid, bits});
}

TEST(Storage, SizesArePadded) {
  EXPECT_EQ(numbered(FormatId::f32, find_recipe("te-block-128x128")->row_scales, {1, 5}).stored,
            (Extent{1, 8}));
  EXPECT_EQ(numbered(FormatId::f32, find_recipe("te-block-128x128")->column_scales, {1, 5}).stored,
            (Extent{5, 4}));
  EXPECT_EQ(numbered(FormatId::f32, find_recipe("te-block-1x128")->row_scales, {3, 2}).stored,
            (Extent{2, 4}));
  EXPECT_EQ(numbered(FormatId::e8m0, find_recipe("te-mxfp8")->row_scales, {96, 90}).stored,
            (Extent{128, 92}));
  EXPECT_EQ(numbered(FormatId::e8m0, find_recipe("te-mxfp8")->column_scales, {3, 2880}).stored,
            (Extent{4, 2944}));
}

TEST(Storage, AGridComesBackAndPaddingIsZero) {
  for (const char* name : {"te-block-1x128", "te-block-128x128", "te-mxfp8", "te-nvfp4-16x16"}) {
    for (const ScaleStorage& storage : {find_recipe(name)->row_scales, find_recipe(name)->column_scales}) {
      const Extent grid{3, 5};
      ScalePlane plane = numbered(find_recipe(name)->scale_format, storage, grid);
      const auto bits = grid_in(plane, storage);
      for (std::size_t i = 0; i < bits.size(); ++i) EXPECT_EQ(bits[i], i + 1) << name;
      std::size_t held = 0;
      for (const std::byte byte : plane.bytes) held += byte != std::byte{0};
      EXPECT_EQ(held, 15u) << name;
    }
  }
}

TEST(Storage, SwizzleIsABijection) {
  for (const Direction direction : {Direction::row, Direction::column}) {
    const Recipe& recipe = *find_recipe("te-mxfp8");
    const bool by_row = direction == Direction::row;
    const ScalePlane plane = by_row ? numbered(FormatId::e8m0, recipe.row_scales, {200, 90})
                                    : numbered(FormatId::e8m0, recipe.column_scales, {7, 300});
    const auto turned = swizzled(plane, direction);
    EXPECT_NE(turned, plane.bytes);
    EXPECT_EQ(unswizzled(turned, plane.stored, direction), plane.bytes);
    // fp8 3.4 by hand: entry (33, 5) of rows of 92 blocks, or (column 33, block 5) of columns of 8 blocks.
    const std::int64_t blocks = by_row ? plane.stored.columns : plane.stored.rows;
    const std::int64_t from = by_row ? 33 * blocks + 5 : 5 * plane.stored.columns + 33;
    EXPECT_EQ(turned[512 + 16 + 4 + 1], plane.bytes[static_cast<std::size_t>(from)]);
  }
}

TEST(Storage, TheFirstOfTwoFp4CodesIsLow) {
  const std::uint8_t codes[] = {1, 2, 3, 4, 5};
  EXPECT_EQ(packed_fp4(codes), (std::vector<std::uint8_t>{0x21, 0x43, 0x05}));
}

}  // namespace
}  // namespace shardcheck::recipe
