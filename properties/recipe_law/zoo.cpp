#include "properties/recipe_law/zoo.h"

#include <algorithm>
#include <bit>

namespace shardcheck {
namespace {

using namespace recipe;

/// Quantises by rows, with amaxes and scales as the fault has changed them.
template <class ChangeAmaxes, class ChangeScales>
QuantizedCopy changed(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix,
                      ChangeAmaxes change_amaxes, ChangeScales change_scales) {
  const Direction direction = is_derivable(recipe.second_copy) ? Direction::row : wanted.direction;
  const Blocks blocks = blocks_of(recipe.block, direction, matrix.extent);
  std::vector<float> amaxes = amaxes_of(recipe, wanted.direction, matrix);
  change_amaxes(blocks, amaxes);
  Scales scales =
      scales_of(recipe, wanted.elements, {.amaxes = amaxes, .tensor_amax = tensor_amax_of(recipe, amaxes)});
  for (BlockScale& scale : scales.blocks) change_scales(scale);
  std::vector<std::uint8_t> codes(matrix.values.size());
  cast_piece(recipe, wanted.elements, blocks, scales, {0, matrix.values}, codes);
  return stored_copy(recipe, wanted, blocks, scales, std::move(codes));
}

constexpr auto kSameAmaxes = [](const Blocks&, std::vector<float>&) {};
constexpr auto kSameScales = [](BlockScale&) {};

QuantizedCopy zero_by_zero(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  QuantizedCopy copy = quantize(recipe, wanted, matrix);
  // 0 * (fmax / 0) is NaN.
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    if (std::ranges::all_of(matrix.values, [](float x) { return x == 0; }))
      copy.codes[i] = static_cast<std::uint8_t>(format_of(wanted.elements).nan_code);
  }
  return copy;
}

QuantizedCopy power_of_two_up(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  return changed(recipe, wanted, matrix, kSameAmaxes, [](BlockScale& scale) {
    scale.factor *= 2;
    scale.inverse /= 2;
    scale.stored = std::bit_cast<std::uint32_t>(scale.inverse);
  });
}

QuantizedCopy columns_out_of_rows(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  if (wanted.direction == Direction::row) return quantize(recipe, wanted, matrix);
  Wanted rows = wanted;
  rows.direction = Direction::row;
  const std::vector<float> decoded = dequantize(recipe, quantize(recipe, rows, matrix));
  return quantize(recipe, wanted, {matrix.extent, decoded});
}

QuantizedCopy grid_left_as_it_is(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  QuantizedCopy copy = quantize(recipe, wanted, matrix);
  if (wanted.direction == Direction::row) return copy;
  const std::vector<std::uint32_t> grid = grid_in(copy.scales, recipe.column_scales);
  ScaleStorage storage = recipe.column_scales;
  storage.transposed = false;
  copy.scales.bytes = scale_plane(recipe.scale_format, storage, {copy.scales.grid.transposed(), grid}).bytes;
  return copy;
}

QuantizedCopy bytes_left_in_place(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  QuantizedCopy copy = quantize(recipe, wanted, matrix);
  if (wanted.direction == Direction::row) return copy;
  Wanted rows = wanted;
  rows.direction = Direction::row;
  copy.codes = quantize(recipe, rows, matrix).codes;
  return copy;
}

QuantizedCopy one_amax_for_all(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  return changed(
      recipe, wanted, matrix,
      [&](const Blocks&, std::vector<float>& amaxes) {
        std::ranges::fill(amaxes, tensor_amax_of(recipe, amaxes));
      },
      kSameScales);
}

QuantizedCopy amax_without_sign(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  return changed(
      recipe, wanted, matrix,
      [&](const Blocks& blocks, std::vector<float>& amaxes) {
        std::vector<float> positive(matrix.values.begin(), matrix.values.end());
        for (float& value : positive) value = std::max(value, 0.0f);
        std::ranges::fill(amaxes, 0.0f);
        take_amaxes(blocks, recipe.amax_nan, {0, positive}, amaxes);
      },
      kSameScales);
}

QuantizedCopy large_epsilon(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  return changed(
      recipe, wanted, matrix,
      [](const Blocks&, std::vector<float>& amaxes) {
        for (float& amax : amaxes) amax = std::max(amax, 1.0f);
      },
      kSameScales);
}

QuantizedCopy largest_of_fnuz(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  return changed(recipe, wanted, matrix, kSameAmaxes, [](BlockScale& scale) {
    scale.factor *= 240.0f / 448.0f;
    scale.inverse = 1.0f / scale.factor;
    scale.stored = std::bit_cast<std::uint32_t>(scale.inverse);
  });
}

QuantizedCopy unswapped_inverse(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  return changed(recipe, wanted, matrix, kSameAmaxes,
                 [](BlockScale& scale) { std::swap(scale.factor, scale.inverse); });
}

QuantizedCopy other_mode_for_columns(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  Recipe mode = recipe;
  if (wanted.direction == Direction::column) mode.formula = ScaleFormula::exponent_down;
  return quantize(mode, wanted, matrix);
}

QuantizedCopy scales_of_the_other_axis(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  QuantizedCopy copy = quantize(recipe, wanted, matrix);
  if (wanted.direction == Direction::row) return copy;
  Wanted rows = wanted;
  rows.direction = Direction::row;
  const std::vector<std::uint32_t> of_rows =
      grid_in(quantize(recipe, rows, matrix).scales, recipe.row_scales);
  std::vector<std::uint32_t> grid = grid_in(copy.scales, recipe.column_scales);
  for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = of_rows[i % of_rows.size()];
  copy.scales = scale_plane(recipe.scale_format, recipe.column_scales, {copy.scales.grid, grid});
  return copy;
}

/// A kernel for columns with tiles of 256 columns, whose second tile takes the amaxes of the first.
QuantizedCopy one_tile_width_is_wrong(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  if (wanted.direction == Direction::row) return quantize(recipe, wanted, matrix);
  constexpr std::int64_t kTile = 256;
  const Blocks blocks = blocks_of(recipe, wanted.direction, matrix.extent);
  std::vector<float> amaxes = amaxes_of(recipe, wanted.direction, matrix);
  for (std::int64_t b = 0; b < blocks.count(); ++b) {
    const std::int64_t column = b % blocks.grid.columns;
    if (column >= kTile) amaxes[static_cast<std::size_t>(b)] = amaxes[static_cast<std::size_t>(b - kTile)];
  }
  const Scales scales = scales_of(recipe, wanted.elements, {.amaxes = amaxes});
  std::vector<std::uint8_t> codes(matrix.values.size());
  cast_piece(recipe, wanted.elements, blocks, scales, {0, matrix.values}, codes);
  return stored_copy(recipe, wanted, blocks, scales, std::move(codes));
}

constexpr RecipeFault kZoo[] = {
    {"Q10", "a group of zeros is divided by its amax of 0", "F26", "te-current", zero_by_zero},
    {"Q14", "the power of two of a scale is rounded up", "F28", "te-block-128x128", power_of_two_up},
    {"Q16", "the rounding of the scale is honoured for rows and not for columns", "F34", "ao-mxfp8-rceil",
     other_mode_for_columns},
    {"Q18", "the columns of a 1 x 32 recipe are made of the rows' codes", "F34", "te-mxfp8",
     columns_out_of_rows},
    {"Q19", "the transpose keeps the scales of the other axis", "F34", "ao-rowwise",
     scales_of_the_other_axis},
    {"Q20", "the transposed store leaves every byte in its place", "F32", "te-current", bytes_left_in_place},
    {"Q21", "one tile width of the kernel for columns takes other amaxes", "F34", "te-block-1x128-fp32",
     one_tile_width_is_wrong},
    {"Q57", "the tile is transposed and the grid of scales is not", "F33", "te-block-128x128",
     grid_left_as_it_is},
    {"Q59", "the scale aims at the largest number of another format", "F23", "te-block-1x128-fp32",
     largest_of_fnuz},
    {"Q60", "the element is multiplied by the inverse scale", "F28", "te-current", unswapped_inverse},
    {"M1", "one amax serves all blocks", "F30", "te-block-1x128", one_amax_for_all},
    {"M2", "the amax is of the numbers and not of their magnitudes", "F31", "te-current", amax_without_sign},
    {"M3", "an undeclared epsilon enters the scale", "F25", "te-current", large_epsilon},
};

}  // namespace

RecipeCase case_of(const RecipeFault& fault) {
  RecipeCase c{.recipe = std::string(fault.recipe), .rows = 3, .columns = 300, .seed = 4};
  c.fault = fault.id;
  if (fault.law == "F33") {  // a grid of 2 x 3, one of its scales another than the others
    c.rows = 130;
    c.numbers = MasterFamily::outlier;
  }
  if (fault.law == "F25") c.numbers = MasterFamily::equal;  // small where they are scaled down
  if (fault.law == "F26") {
    c.rows = c.columns = 1;
    c.numbers = MasterFamily::zeros;
  }
  return c;
}

std::span<const RecipeFault> recipe_zoo() {
  return kZoo;
}

const RecipeFault* find_recipe_fault(std::string_view id) {
  const auto found = std::ranges::find(kZoo, id, &RecipeFault::id);
  return found == std::end(kZoo) ? nullptr : &*found;
}

}  // namespace shardcheck
