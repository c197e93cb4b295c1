// Recipes over whole matrices: the laws F25 to F34 where a sentence says what must come out.
#include "core/recipe/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/numerics/narrow.h"
#include "core/numerics/philox.h"
#include "core/recipe/catalogue.h"

namespace shardcheck::recipe {
namespace {

std::vector<float> random_values(Extent extent, std::uint64_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < extent.numel(); ++i) {
    const auto words = philox(seed, 0, static_cast<std::uint64_t>(i));
    const float magnitude =
        std::ldexp(1.0f + static_cast<float>(words[0] % 128) / 128, static_cast<int>(words[1] % 24) - 12);
    values.push_back(words[2] % 2 == 0 ? magnitude : -magnitude);
  }
  return values;
}

Wanted wanted(const Recipe& recipe, Direction direction) {
  return {.direction = direction, .elements = recipe.forward, .given_scale = 8};
}

std::vector<float> turned(Extent extent, const std::vector<float>& values) {
  std::vector<float> result(values.size());
  for (std::int64_t r = 0; r < extent.rows; ++r) {
    for (std::int64_t c = 0; c < extent.columns; ++c)
      result[static_cast<std::size_t>(c * extent.rows + r)] =
          values[static_cast<std::size_t>(r * extent.columns + c)];
  }
  return result;
}

TEST(Quantize, TheSecondCopyIsWhatTheRecipeSays) {
  const Extent extent{160, 200};
  const auto values = random_values(extent, 3);
  const auto flipped = turned(extent, values);
  for (const Recipe& recipe : recipes()) {
    SCOPED_TRACE(recipe.name);
    const QuantizedCopy rows = quantize(recipe, wanted(recipe, Direction::row), {extent, values});
    const QuantizedCopy columns = quantize(recipe, wanted(recipe, Direction::column), {extent, values});
    if (is_derivable(recipe.second_copy)) {
      EXPECT_EQ(second_copy_of(recipe, rows), columns);  // F32, F33
    } else {
      EXPECT_THROW(second_copy_of(recipe, rows), Error);  // F34
    }
    // F32 to F34: the column copy of x and the row copy of its transpose decode to the same numbers.
    const QuantizedCopy of_turned =
        quantize(recipe, wanted(recipe, Direction::row), {extent.transposed(), flipped});
    EXPECT_EQ(turned(extent, dequantize(recipe, columns)), dequantize(recipe, of_turned));
  }
}

TEST(Quantize, ZerosKeepTheirSignsAndNothingElse) {
  const std::vector<float> values = {0.0f, -0.0f, 0.0f, -0.0f};
  for (const Recipe& recipe : recipes()) {
    if (recipe.formula == ScaleFormula::given) continue;
    const QuantizedCopy copy = quantize(recipe, wanted(recipe, Direction::row), {{2, 2}, values});
    const auto sign = static_cast<std::uint8_t>(format_of(recipe.forward).sign_mask());
    EXPECT_EQ(copy.codes, (std::vector<std::uint8_t>{0, sign, 0, sign})) << recipe.name;  // F26
    for (const float value : dequantize(recipe, copy)) EXPECT_EQ(value, 0.0f) << recipe.name;
  }
}

TEST(Quantize, DecodedValuesAreNear) {
  // F28 with the roundings of a scale that is no power of two.
  const Extent extent{64, 256};
  const auto values = random_values(extent, 9);
  for (const char* name : {"te-current", "te-block-1x128", "te-block-128x128-fp32", "dg-1x128", "te-mxfp8"}) {
    const Recipe& recipe = *find_recipe(name);
    const auto scales = amaxes_of(recipe, Direction::row, {extent, values});
    const auto decoded =
        dequantize(recipe, quantize(recipe, wanted(recipe, Direction::row), {extent, values}));
    const Blocks blocks = blocks_of(recipe.block, Direction::row, extent);
    const Scales by = scales_of(recipe, recipe.forward, {.amaxes = scales});
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = static_cast<double>(values[i]);
      const BlockScale& scale = by.blocks[static_cast<std::size_t>(blocks.of(static_cast<std::int64_t>(i)))];
      const double normal = std::abs(x) * ((1 + 0x1p-4) * std::pow(1 + 0x1p-24, 3) - 1);
      const double subnormal = 0x1p-10 * (1 + 0x1p-20) * static_cast<double>(scale.inverse);
      ASSERT_LE(std::abs(static_cast<double>(decoded[i]) - x), std::max(normal, subnormal))
          << name << " " << i;
    }
  }
}

TEST(Quantize, PowersOfTwoOfASourceMoveTheScaleOnly) {
  const Extent extent{40, 160};
  const auto values = random_values(extent, 4);
  for (const char* name : {"te-current", "te-block-1x128", "te-block-128x128-fp32", "te-mxfp8", "te-nvfp4"}) {
    const Recipe& recipe = *find_recipe(name);
    const QuantizedCopy plain = quantize(recipe, wanted(recipe, Direction::row), {extent, values});
    for (const int k : {-20, 3, 20}) {
      std::vector<float> moved;
      for (const float value : values) moved.push_back(std::ldexp(value, k));
      const QuantizedCopy copy = quantize(recipe, wanted(recipe, Direction::row), {extent, moved});
      EXPECT_EQ(copy.codes, plain.codes) << name << " " << k;  // F25
    }
  }
}

TEST(Quantize, ANanIsItsElementsOrItsBlocksByPolicy) {
  std::vector<float> values(64, 1.0f);
  values[40] = std::numeric_limits<float>::quiet_NaN();
  const QuantizedCopy dropped = quantize(*find_recipe("te-mxfp8"), {}, {{2, 32}, values});
  EXPECT_EQ(std::ranges::count(dropped.codes, 0x7F), 1);
  // Q09: 31 ones and one NaN.
  const Recipe& recipe = *find_recipe("ao-mxfp8-rceil");
  const QuantizedCopy spoiled = quantize(recipe, {}, {{2, 32}, values});
  EXPECT_EQ(grid_in(spoiled.scales, recipe.row_scales), (std::vector<std::uint32_t>{0x77, 0xFF}));
  EXPECT_EQ(std::ranges::count(spoiled.codes, 0x7F), 32);
}

TEST(Quantize, DividingIsAnotherRecipe) {
  const Extent extent{8, 512};
  Recipe divides = *find_recipe("te-block-1x128-fp32");
  divides.use = ScaleUse::divide;
  const Recipe& multiplies = *find_recipe("te-block-1x128-fp32");
  int differing = 0;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    auto values = random_values(extent, seed);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= 1 + static_cast<float>(i % 97) * 0x1p-7f;
    const auto a = quantize(multiplies, {}, {extent, values}).codes;
    const auto b = quantize(divides, {}, {extent, values}).codes;
    for (std::size_t i = 0; i < a.size(); ++i) differing += a[i] != b[i];
  }
  EXPECT_GT(differing, 0) << "fp8 2.8: a few elements in ten thousand";
}

}  // namespace
}  // namespace shardcheck::recipe
