// The formulas of scales as kernels have them, compiled for the host, against core/recipe, on corners of
// amaxes and on random ones; and the walk over blocks.
#include "tests/backends/cuda/device_on_host.h"
// The shim above comes first.
#include <gtest/gtest.h>

#include <limits>

#include "backends/cuda/block_cursor.cuh"
#include "backends/cuda/block_scale.cuh"
#include "core/recipe/catalogue.h"
#include "core/recipe/quantize.h"
#include "tests/backends/cuda/random_numbers.h"

namespace shardcheck {
namespace {

/// Powers of two and multiples of fmax with their neighbours, subnormals, what overflows, infinity, NaN.
std::vector<float> amaxes() {
  std::vector<float> all = {0.0f,
                            std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::max(),
                            1e-12f,
                            1e-4f,
                            0x1p-149f};
  for (int exponent = -149; exponent < 128; ++exponent) {
    for (const float times : {1.0f, 1.75f, 1.875f, 1.5f}) {
      const float at = std::ldexp(times, exponent);
      for (const int step : {-1, 0, 1}) {
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(at) + static_cast<std::uint32_t>(step);
        all.push_back(std::bit_cast<float>(bits & 0x7FFFFFFFu));
      }
    }
  }
  RandomNumbers random(5);
  for (int i = 0; i < 20'000; ++i) all.push_back(std::abs(random.number(DType::f32, 126, Corners::all)));
  return all;
}

TEST(BlockScale, IsTheRecipes) {
  const std::vector<float> all = amaxes();
  for (std::size_t index = 0; index < recipe::recipes().size(); ++index) {
    const recipe::Recipe& named = recipe::recipes()[index];
    if (named.formula == recipe::ScaleFormula::two_level) continue;
    for (const FormatId elements : {FormatId::e4m3, FormatId::e5m2}) {
      const BlockCopy of{.recipe = static_cast<std::int8_t>(index), .rows = 1, .columns = 1};
      const gpu::ScaleRule rule = gpu::shape_of(of, elements).rule;
      const recipe::Scales expected = recipe::scales_of(named, elements, {.amaxes = all});
      for (std::size_t i = 0; i < all.size(); ++i) {
        const gpu::BlockScale found = gpu::scale_of(rule, all[i]);
        const recipe::BlockScale& right = expected.blocks[i];
        const auto same = [&](std::uint32_t a, std::uint32_t b) {
          return a == b || ((a & 0x7FFFFFFFu) > 0x7F800000u && (b & 0x7FFFFFFFu) > 0x7F800000u);
        };
        ASSERT_TRUE(same(found.stored, right.stored)) << named.name << " amax " << all[i] << ": " << std::hex
                                                      << found.stored << ", expected " << right.stored;
        ASSERT_TRUE(
            same(std::bit_cast<std::uint32_t>(found.factor), std::bit_cast<std::uint32_t>(right.factor)))
            << named.name << " amax " << all[i];
      }
    }
  }
}

TEST(BlockScale, TheCursorKnowsTheBlockOfEveryElement) {
  for (const recipe::Recipe& named : recipe::recipes()) {
    if (named.formula == recipe::ScaleFormula::two_level) continue;
    for (const recipe::Direction direction : {recipe::Direction::row, recipe::Direction::column}) {
      for (const recipe::Extent& extent : {recipe::Extent{130, 70}, {70, 300}, {5, 1}}) {
        const BlockCopy of{.recipe = static_cast<std::int8_t>(&named - recipe::recipes().data()),
                           .direction = direction,
                           .rows = extent.rows,
                           .columns = extent.columns};
        const gpu::BlockGrid grid = gpu::shape_of(of, FormatId::e4m3).grid;
        const recipe::Blocks blocks = recipe::blocks_of(named, direction, extent);
        gpu::BlockCursor walked(grid, 0);
        for (long long element = 0; element < extent.numel(); ++element) {
          const gpu::BlockCursor found(grid, element);
          ASSERT_EQ(found.block(grid), blocks.of(element)) << named.name << " " << element;
          ASSERT_EQ(walked.block(grid), blocks.of(element)) << named.name << " " << element;
          ASSERT_EQ(walked.left, found.left) << named.name << " " << element;
          if (element + 1 < extent.numel()) walked.advance(grid);
        }
      }
    }
  }
}

TEST(BlockScale, ADividerDivides) {
  RandomNumbers random(6);
  std::vector<long long> divisors = {
      1, 2, 3, 5, 7, 127, 128, 129, 65535, 65536, 65537, (1LL << 31) - 1, 1LL << 31};
  for (int i = 0; i < 2000; ++i) {
    divisors.push_back(static_cast<long long>(1 + random.below(1ULL << (1 + random.below(34)))));
  }
  for (const long long divisor : divisors) {
    const gpu::Divider by = gpu::divider_of(divisor);
    for (int i = 0; i < 200; ++i) {
      const auto any = static_cast<long long>(random.below(1ULL << (1 + random.below(40))));
      const long long multiple = any / divisor * divisor;
      for (const long long number : {any, multiple, multiple + divisor - 1, (1LL << 31) - 1, 1LL << 31}) {
        ASSERT_EQ(gpu::quotient_of(number, by), number / divisor) << number << " / " << divisor;
      }
    }
  }
}

}  // namespace
}  // namespace shardcheck
