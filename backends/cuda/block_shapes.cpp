#include "backends/cuda/block_shapes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/assert.h"
#include "core/integers.h"
#include "core/recipe/catalogue.h"
#include "core/recipe/quantize.h"

namespace shardcheck::gpu {
namespace {

ScaleRule rule_of(const recipe::Recipe& named, FormatId elements) {
  const float largest = recipe::largest_of(elements);
  return {.formula = named.formula,
          .power_of_two = named.power_of_two,
          .use = named.use,
          .amax_nan = named.amax_nan,
          .largest = largest,
          .largest_power = std::ilogb(largest),
          .mantissa_bits = format_of(elements).mantissa_bits,
          .epsilon = named.epsilon,
          .value_for_infinity = named.value_for_infinity};
}

}  // namespace

Divider divider_of(long long divisor) {
  SC_ASSERT(divisor >= 0, "a divisor is no negative number");
  if (divisor < 2 || divisor >= 1LL << 31) return {.divisor = std::max(divisor, 1LL)};
  const int k = std::bit_width(static_cast<std::uint64_t>(divisor - 1));
  const auto power = std::uint64_t{1} << (31 + k), wide = static_cast<std::uint64_t>(divisor);
  return {divisor, static_cast<std::uint32_t>((power + wide - 1) / wide), k - 1};
}

CopyShape shape_of(const BlockCopy& of, FormatId elements) {
  SC_ASSERT(of.recipe >= 0 && of.recipe < std::ssize(recipe::recipes()),
            "the recipe is not in the catalogue");
  const recipe::Recipe& named = recipe::recipes()[static_cast<std::size_t>(of.recipe)];
  SC_ASSERT(named.scale_format == FormatId::f32 || named.scale_format == FormatId::e8m0,
            "ops on blocks have one level of scales, in fp32 or E8M0");
  SC_ASSERT(named.cast == kNvSaturating, "block kernels cast by the conversion instruction alone");
  const recipe::Blocks blocks = recipe::blocks_of(named, of.direction, {of.rows, of.columns});
  const recipe::ScaleStorage& storage = recipe::storage_of(named, of.direction);
  const recipe::Extent turned = storage.transposed ? blocks.grid.transposed() : blocks.grid;
  return {.grid = {.rows = of.rows,
                   .columns = of.columns,
                   .height = blocks.height,
                   .width = blocks.width,
                   .grid_rows = blocks.grid.rows,
                   .grid_columns = blocks.grid.columns,
                   .by_columns = divider_of(of.columns),
                   .by_height = divider_of(blocks.height),
                   .by_width = divider_of(blocks.width)},
          .plane = {.grid_rows = blocks.grid.rows,
                    .grid_columns = blocks.grid.columns,
                    .stored_rows = round_up(turned.rows, storage.row_multiple),
                    .stored_columns = round_up(turned.columns, storage.column_multiple),
                    .transposed = storage.transposed,
                    .are_codes = named.scale_format == FormatId::e8m0},
          .rule = rule_of(named, elements)};
}

}  // namespace shardcheck::gpu
