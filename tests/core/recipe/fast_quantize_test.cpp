// The fast path is the reference: every recipe, both directions, both FP8 formats, over random and
// adversarial matrices with ragged edges, bit for bit.
#include "core/recipe/fast_quantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "core/numerics/encode.h"
#include "core/recipe/catalogue.h"

namespace shardcheck::recipe {
namespace {

std::vector<std::uint32_t> bits_of(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

enum class Kind { ordinary, any_bits, corners };

/// Corners: what lies around midpoints, thresholds and the ends of fp32, NaNs and infinities among zeros.
std::vector<float> matrix_of(Kind kind, Extent extent, std::mt19937& random) {
  constexpr std::uint32_t corners[] = {
      0,          0x80000000, 1,          0x00400000, 0x00400001, 0x007fffff, 0x00800000, 0x3a800000,
      0x3a800001, 0x3f880000, 0x3f880001, 0x43e80000, 0x43e80001, 0xc3f00000, 0x47700000, 0x7f7fffff,
      0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x04600001, 0x7f7f0000};
  std::vector<float> values(static_cast<std::size_t>(extent.numel()));
  std::normal_distribution<float> normal(0, 0.02f);
  for (float& value : values) {
    const auto drawn = static_cast<std::uint32_t>(random());
    value = kind == Kind::ordinary   ? normal(random)
            : kind == Kind::any_bits ? std::bit_cast<float>(drawn)
            : drawn % 4 == 0         ? std::bit_cast<float>(corners[drawn / 4 % std::size(corners)])
                                     : std::ldexp(normal(random), static_cast<int>(drawn % 64) - 32);
  }
  return values;
}

void expect_equal(const Recipe& recipe, Direction direction, FormatId elements, const Matrix& matrix) {
  const Blocks blocks = blocks_of(recipe, direction, matrix.extent);
  const FastQuantizer fast(recipe, elements);
  std::vector<float> amaxes(static_cast<std::size_t>(blocks.count()));
  fast.take_amaxes(blocks, matrix.values, amaxes);
  const std::vector<float> expected = amaxes_of(recipe, direction, matrix);
  ASSERT_EQ(bits_of(amaxes), bits_of(expected)) << recipe.name;

  const Scales scales =
      scales_of(recipe, elements, {.amaxes = amaxes, .tensor_amax = tensor_amax_of(recipe, amaxes)});
  const bool is_asked = recipe.formula != ScaleFormula::given && recipe.formula != ScaleFormula::two_level;
  if (is_asked) {
    const std::vector<BlockScale> own = fast.scales(amaxes);
    for (std::size_t b = 0; b < own.size(); ++b) {
      ASSERT_EQ(own[b].stored, scales.blocks[b].stored) << recipe.name << " amax " << amaxes[b];
      ASSERT_EQ(bits_of(std::span(&own[b].factor, 1)), bits_of(std::span(&scales.blocks[b].factor, 1)));
      ASSERT_EQ(bits_of(std::span(&own[b].inverse, 1)), bits_of(std::span(&scales.blocks[b].inverse, 1)));
    }
  }
  std::vector<std::uint8_t> codes(matrix.values.size()), reference(codes.size());
  fast.cast(blocks, scales.blocks, matrix.values, codes);
  cast_piece(recipe, elements, blocks, scales, {0, matrix.values}, reference);
  ASSERT_EQ(codes, reference) << recipe.name << " " << format_of(elements).name;
}

TEST(FastQuantizer, IsTheReferenceForEveryRecipe) {
  std::mt19937 random(7);
  for (const Recipe& recipe : recipes()) {
    for (const Kind kind : {Kind::ordinary, Kind::any_bits, Kind::corners}) {
      for (const Extent extent :
           {Extent{128, 256}, Extent{1, 1}, Extent{37, 259}, Extent{130, 31}, Extent{3, 0}}) {
        const std::vector<float> values = matrix_of(kind, extent, random);
        for (const Direction direction : {Direction::row, Direction::column}) {
          expect_equal(recipe, direction, recipe.forward, {extent, values});
          if (recipe.forward == FormatId::e4m3)
            expect_equal(recipe, direction, FormatId::e5m2, {extent, values});
        }
      }
    }
  }
}

TEST(FastQuantizer, DividesWhereTheRecipeDoes) {
  std::mt19937 random(8);
  Recipe recipe = *find_recipe("dg-1x128");
  recipe.use = ScaleUse::divide;
  for (const Direction direction : {Direction::row, Direction::column}) {
    const std::vector<float> values = matrix_of(Kind::corners, {140, 300}, random);
    expect_equal(recipe, direction, FormatId::e4m3, {{140, 300}, values});
  }
}

TEST(FastQuantizer, AmaxesOfStripsAreCombined) {
  const Recipe& recipe = *find_recipe("te-current");
  const FastQuantizer fast(recipe, FormatId::e4m3);
  const std::vector<float> small = {1, -2}, large = {-3, std::nanf("")};
  const Blocks blocks = blocks_of(recipe, Direction::row, {1, 2});
  std::vector<float> amax(1);
  for (const auto& strip : {large, small}) fast.take_amaxes(blocks, strip, amax);
  EXPECT_EQ(amax[0], 3);
}

TEST(LargestCodes, OfEveryBlockWithoutSigns) {
  std::vector<std::uint8_t> codes(3 * 40, 0x81);
  codes[5] = 0xFE;        // row 0, block 0
  codes[40 + 39] = 0x12;  // row 1, block 1
  const Blocks rows = blocks_of(BlockShape{32, 1}, Direction::row, {3, 40});
  std::vector<std::uint8_t> largest(6);
  take_largest_codes(rows, 0x7f, codes, largest);
  EXPECT_EQ(largest, (std::vector<std::uint8_t>{0x7E, 1, 1, 0x12, 1, 1}));
  const Blocks columns = blocks_of(BlockShape{32, 1}, Direction::column, {3, 40});
  std::vector<std::uint8_t> by_column(40);
  take_largest_codes(columns, 0x7f, codes, by_column);
  EXPECT_EQ(by_column[5], 0x7E);
  EXPECT_EQ(by_column[39], 0x12);
  EXPECT_EQ(by_column[0], 1);
}

TEST(AllFinite, FindsOneInfinityOrNaN) {
  std::vector<float> values(1000, -1e38f);
  EXPECT_TRUE(all_finite(values));
  values[999] = -INFINITY;
  EXPECT_FALSE(all_finite(values));
  values[999] = std::nanf("");
  EXPECT_FALSE(all_finite(values));
  EXPECT_TRUE(all_finite({}));
}

}  // namespace
}  // namespace shardcheck::recipe
