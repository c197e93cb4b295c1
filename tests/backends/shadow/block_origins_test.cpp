// What an element of an op on blocks comes from, by recipes whose planes are transposed, padded, or both.
#include "backends/shadow/block_origins.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/recipe/catalogue.h"

namespace shardcheck::shadowing {
namespace {

using recipe::Direction;

BlockCopy of(std::string_view name, recipe::Extent extent, Direction direction = Direction::row) {
  return {.recipe = static_cast<std::int8_t>(recipe::find_recipe(name) - recipe::recipes().data()),
          .direction = direction,
          .rows = extent.rows,
          .columns = extent.columns};
}

/// "name operand[first:count:stride]" of each.
std::string text(const std::vector<Origin>& origins) {
  std::string all;
  for (const Origin& each : origins) {
    all += fmt::format("{} {}[{}:{}:{}]; ", each.name, each.operand, each.first, each.count, each.stride);
  }
  return all;
}

TEST(BlockOrigins, OfAnAmaxAreItsBlockInThePiece) {
  const BlockCopy lines = of("te-block-1x128", {4, 300});
  EXPECT_EQ(text(origins_of(TakeAmax{lines, 0}, {1, 1}, 1200)),
            "of the block 0[128:128:1]; raised from 1[1:1:1]; ");
  EXPECT_EQ(text(origins_of(TakeAmax{lines, 0}, {1, 2}, 1200)),
            "of the block 0[256:44:1]; raised from 1[2:1:1]; ");
  EXPECT_EQ(text(origins_of(TakeAmax{lines, 200}, {1, 1}, 10)),
            "of the block 0[0:10:1]; raised from 1[1:1:1]; ");
  EXPECT_EQ(text(origins_of(TakeAmax{lines, 300}, {1, 1}, 10)), "raised from 1[1:1:1]; ") << "none of it";
  const BlockCopy columns = of("te-mxfp8", {40, 10}, Direction::column);
  EXPECT_EQ(text(origins_of(TakeAmax{columns, 0}, {1, 13}, 400)),
            "of the block 0[323:8:10]; raised from 1[13:1:1]; ");
}

TEST(BlockOrigins, OfAScaleIsTheAmaxOfItsPlace) {
  // Rows: the plane is [k-block][row, padded to 4].
  const BlockCopy rows = of("te-block-1x128", {3, 256});
  EXPECT_EQ(text(origins_of(ScaleFromAmax{rows}, {1, 5})), "amax 0[5:1:1]; ");
  EXPECT_EQ(text(origins_of(ScaleFromAmax{rows}, {2, 4 + 2})), "amax 0[5:1:1]; ");
  EXPECT_EQ(text(origins_of(ScaleFromAmax{rows}, {2, 3})), "") << "padding";
}

TEST(BlockOrigins, OfCodesAreTheSourceAndTheFactor) {
  const BlockCopy rows = of("te-mxfp8", {2, 64});
  EXPECT_EQ(text(origins_of(QuantizeBlocks{rows, 64}, {2, 40})), "source 0[40:1:1]; factor 1[3:1:1]; ");
  EXPECT_EQ(text(origins_of(DequantizeBlocks{rows, 64}, {2, 40})), "code 0[40:1:1]; stored scale 1[5:1:1]; ");
}

TEST(BlockOrigins, OfCopiesOfAMatrix) {
  const QuantizeMatrix turned{of("te-block-1x128", {2, 130})};
  EXPECT_EQ(text(origins_of(turned, {1, 131})), "source 0[131:1:1]; ");
  EXPECT_EQ(text(origins_of(turned, {3, 3})), "source 0[131:1:1]; ") << "stored as 130 x 2";
  EXPECT_EQ(text(origins_of(turned, {2, 5})), "of the block 0[258:2:1]; ");
  EXPECT_EQ(text(origins_of(turned, {4, 7})), "of the block 0[7:2:130]; ");
  const QuantizeMatrix in_place{of("te-mxfp8", {2, 64})};
  EXPECT_EQ(text(origins_of(in_place, {3, 65})), "source 0[65:1:1]; ");
  EXPECT_EQ(text(origins_of(in_place, {2, 2})), "") << "padding";
}

TEST(BlockOrigins, OfADerivedCopyIsTheRowCopy) {
  const DeriveColumnCopy derive{of("te-block-128x128", {130, 300})};
  EXPECT_EQ(text(origins_of(derive, {2, 130 * 7 + 4})), "row code 0[1207:1:1]; ");
  // Column scales are [k-block][row-block, padded to 4]; row scales [row-block][k-block, padded to 4].
  EXPECT_EQ(text(origins_of(derive, {3, 2 * 4 + 1})), "row scale 1[6:1:1]; ");
  EXPECT_EQ(text(origins_of(derive, {3, 2})), "") << "padding";
}

}  // namespace
}  // namespace shardcheck::shadowing
