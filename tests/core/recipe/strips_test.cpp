// Strips on any number of threads give what the whole matrix gives, for every recipe.
#include "core/recipe/strips.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <mutex>
#include <random>

#include "core/each_on_threads.h"
#include "core/recipe/catalogue.h"

namespace shardcheck::recipe {
namespace {

struct Collected {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint32_t> stored;
  TensorScale tensor;
  std::atomic<int> strips = 0;
};

void collect(const Recipe& recipe, const StripOptions& options, const Matrix& matrix, Collected& into) {
  const RowSource source{matrix.extent, [&](layout::Range rows, std::span<float> values) {
                           const auto from = static_cast<std::size_t>(rows.lo * matrix.extent.columns);
                           std::ranges::copy(matrix.values.subspan(from, values.size()), values.begin());
                         }};
  into.codes.assign(matrix.values.size(), 0xAA);
  into.stored.assign(static_cast<std::size_t>(blocks_of(recipe, options.direction, matrix.extent).count()),
                     0xAAAAAAAA);
  into.tensor = quantize_in_strips(recipe, options, source, [&](const QuantizedStrip& strip) {
    ++into.strips;
    std::ranges::copy(strip.codes, into.codes.begin() + strip.rows.lo * matrix.extent.columns);
    for (std::size_t b = 0; b < strip.scales.size(); ++b)
      into.stored[static_cast<std::size_t>(strip.blocks.lo) + b] = strip.scales[b].stored;
  });
}

TEST(Strips, GiveTheWholeMatrixByEveryRecipe) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 1);
  const Extent extent{300, 9001};  // three strips and more, ragged both ways
  std::vector<float> values(static_cast<std::size_t>(extent.numel()));
  for (float& value : values) value = normal(random);
  for (const Recipe& recipe : recipes()) {
    if (recipe.formula == ScaleFormula::given) continue;
    const Matrix matrix{extent, values};
    Collected seen;
    collect(recipe, {.elements = recipe.forward, .threads = 3}, matrix, seen);
    EXPECT_GT(seen.strips, 2) << recipe.name;
    const Blocks blocks = blocks_of(recipe, Direction::row, extent);
    const std::vector<float> amaxes = amaxes_of(recipe, Direction::row, matrix);
    const Scales scales =
        scales_of(recipe, recipe.forward, {.amaxes = amaxes, .tensor_amax = tensor_amax_of(recipe, amaxes)});
    std::vector<std::uint8_t> codes(values.size());
    cast_piece(recipe, recipe.forward, blocks, scales, {0, values}, codes);
    EXPECT_EQ(seen.codes, codes) << recipe.name;
    EXPECT_EQ(seen.tensor.inverse, scales.tensor_inverse) << recipe.name;
    for (std::size_t b = 0; b < scales.blocks.size(); ++b)
      ASSERT_EQ(seen.stored[b], scales.blocks[b].stored) << recipe.name << " block " << b;
  }
}

TEST(Strips, ColumnsToo) {
  const Recipe& recipe = *find_recipe("te-mxfp8");
  const Extent extent{96, 20000};
  std::vector<float> values(static_cast<std::size_t>(extent.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  Collected seen;
  collect(recipe, {.direction = Direction::column, .threads = 2}, {extent, values}, seen);
  EXPECT_EQ(seen.codes, quantize(recipe, {Direction::column, FormatId::e4m3, 1}, {extent, values}).codes);
}

TEST(Strips, StopLeavesTheRestOut) {
  const std::vector<float> values(300 * 9001, 1.0f);
  const std::atomic<bool> stop = true;
  Collected seen;
  collect(*find_recipe("te-mxfp8"), {.stop = &stop}, {{300, 9001}, values}, seen);
  EXPECT_EQ(seen.strips, 0);
}

TEST(EachOnThreads, EveryPieceOnceAndTheFirstExceptionAfterAllEnded) {
  std::vector<std::atomic<int>> seen(1000);
  each_on_threads({1000, 4}, [&](std::int64_t i) { ++seen[static_cast<std::size_t>(i)]; });
  for (const auto& each : seen) EXPECT_EQ(each, 1);
  std::atomic<int> begun = 0;
  EXPECT_THROW(each_on_threads({1000, 1},
                               [&](std::int64_t i) {
                                 ++begun;
                                 if (i == 3) throw std::runtime_error("three");
                               }),
               std::runtime_error);
  EXPECT_EQ(begun, 4);
}

}  // namespace
}  // namespace shardcheck::recipe
