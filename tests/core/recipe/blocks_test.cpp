// Blocks and their amaxes (F18, F19): edges, both directions, and that no partition and no order changes
// them.
#include "core/recipe/blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/core/recipe/special.h"

namespace shardcheck::recipe {
namespace {

TEST(Blocks, EdgesHoldTheElementsThatExist) {
  const Blocks rows = blocks_of({.along = 4, .across = 1}, Direction::row, {3, 10});
  EXPECT_EQ(rows.grid, (Extent{3, 3}));
  EXPECT_EQ(rows.of(9), 2);
  EXPECT_EQ(rows.of(10), 3);
  const Blocks columns = blocks_of({.along = 4, .across = 1}, Direction::column, {10, 3});
  EXPECT_EQ(columns.grid, (Extent{3, 3}));
  EXPECT_EQ(columns.of(3 * 8 + 2), 8);
  EXPECT_EQ(blocks_of({}, Direction::row, {0, 7}).grid, (Extent{1, 1}));
  EXPECT_EQ(blocks_of({.along = 0, .across = 1}, Direction::column, {5, 3}).grid, (Extent{1, 3}));
  EXPECT_EQ(blocks_of({.along = 128, .across = 128}, Direction::row, {0, 7}).grid, (Extent{0, 1}));
}

TEST(Blocks, AmaxesOfPiecesAreThoseOfTheWhole) {
  const Blocks blocks = blocks_of({.along = 2, .across = 2}, Direction::row, {3, 5});
  std::vector<float> values;
  for (int i = 0; i < 15; ++i)
    values.push_back((i % 2 == 0 ? -1.0f : 1.0f) * static_cast<float>((i * 7) % 15));
  std::vector<float> whole(6);
  take_amaxes(blocks, AmaxNan::drop, {0, values}, whole);
  EXPECT_EQ(whole, (std::vector<float>{12, 14, 13, 10, 9, 8}));
  for (std::int64_t cut = 0; cut <= 15; ++cut) {
    std::vector<float> parts(6);
    const std::span<const float> all(values);
    take_amaxes(blocks, AmaxNan::drop, {cut, all.subspan(static_cast<std::size_t>(cut))}, parts);
    take_amaxes(blocks, AmaxNan::drop, {0, all.first(static_cast<std::size_t>(cut))}, parts);
    EXPECT_EQ(parts, whole) << cut;
  }
}

TEST(Blocks, ANanIsDroppedOrArrivesWhereverItStands) {
  for (std::size_t place = 0; place < 3; ++place) {
    std::vector<float> values = {1, -2, 1};
    values[place] = kNan;
    const Blocks blocks = blocks_of({}, Direction::row, {1, 3});
    float dropped = 0, propagated = 0;
    take_amaxes(blocks, AmaxNan::drop, {0, values}, {&dropped, 1});
    take_amaxes(blocks, AmaxNan::propagate, {0, values}, {&propagated, 1});
    EXPECT_EQ(dropped, place == 1 ? 1.0f : 2.0f);
    EXPECT_TRUE(std::isnan(propagated));
  }
  EXPECT_EQ(larger(AmaxNan::drop, 0, kNan), 0.0f) << "a group of nothing but NaN";
  EXPECT_TRUE(std::isnan(larger(AmaxNan::propagate, kNan, kInfinity)));
}

}  // namespace
}  // namespace shardcheck::recipe
