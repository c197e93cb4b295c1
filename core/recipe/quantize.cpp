#include "core/recipe/quantize.h"

#include <array>
#include <bit>
#include <string>

#include "core/assert.h"
#include "core/error.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"

namespace shardcheck::recipe {
namespace {

template <class Code>
std::vector<Code> transposed(Extent extent, const std::vector<Code>& codes) {
  std::vector<Code> result(codes.size());
  for (std::int64_t i = 0; i < std::ssize(codes); ++i) {
    const std::int64_t row = i / extent.columns, column = i % extent.columns;
    result[static_cast<std::size_t>(column * extent.rows + row)] = codes[static_cast<std::size_t>(i)];
  }
  return result;
}

bool is_stored_transposed(const Recipe& recipe, Direction direction) {
  return direction == Direction::column && recipe.second_copy != SecondCopy::requantised_in_place;
}

}  // namespace

Blocks blocks_of(const Recipe& recipe, Direction direction, Extent extent) {
  return blocks_of(recipe.block, is_derivable(recipe.second_copy) ? Direction::row : direction, extent);
}

std::vector<float> amaxes_of(const Recipe& recipe, Direction direction, const Matrix& matrix) {
  const Blocks blocks = blocks_of(recipe, direction, matrix.extent);
  std::vector<float> amaxes(static_cast<std::size_t>(blocks.count()));
  take_amaxes(blocks, recipe.amax_nan, {0, matrix.values}, amaxes);
  return amaxes;
}

float tensor_amax_of(const Recipe& recipe, std::span<const float> amaxes) {
  float amax = 0;
  for (const float each : amaxes) amax = larger(recipe.amax_nan, amax, each);
  return amax;
}

void cast_piece(const Recipe& recipe, FormatId elements, const Blocks& blocks, const Scales& scales,
                const Piece& piece, std::span<std::uint8_t> codes) {
  SC_ASSERT(codes.size() == piece.values.size(), "not one code an element");
  SC_ASSERT(std::ssize(scales.blocks) == blocks.count(), "not one scale a block");
  const Format& format = format_of(elements);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::int64_t block = blocks.of(piece.lo + static_cast<std::int64_t>(i));
    const float factor = scales.blocks[static_cast<std::size_t>(block)].factor;
    const float x = piece.values[i];
    const float scaled = recipe.use == ScaleUse::divide ? x / factor : x * factor;
    codes[i] = static_cast<std::uint8_t>(encode(format, recipe.cast, std::bit_cast<std::uint32_t>(scaled)));
  }
}

QuantizedCopy stored_copy(const Recipe& recipe, const Wanted& wanted, const Blocks& blocks,
                          const Scales& scales, std::vector<std::uint8_t> codes) {
  const bool turned = is_stored_transposed(recipe, wanted.direction);
  std::vector<std::uint32_t> grid;
  for (const BlockScale& scale : scales.blocks) grid.push_back(scale.stored);
  return {
      .direction = wanted.direction,
      .elements = wanted.elements,
      .source = blocks.extent,
      .stored = turned ? blocks.extent.transposed() : blocks.extent,
      .codes = turned ? transposed(blocks.extent, codes) : std::move(codes),
      .scales = scale_plane(recipe.scale_format, storage_of(recipe, wanted.direction), {blocks.grid, grid}),
      .tensor_inverse = scales.tensor_inverse};
}

QuantizedCopy quantize(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix) {
  SC_ASSERT(std::ssize(matrix.values) == matrix.extent.numel(), "a matrix has another number of elements");
  const Blocks blocks = blocks_of(recipe, wanted.direction, matrix.extent);
  const std::vector<float> amaxes = amaxes_of(recipe, wanted.direction, matrix);
  const Scales scales = scales_of(
      recipe, wanted.elements,
      {.amaxes = amaxes, .tensor_amax = tensor_amax_of(recipe, amaxes), .given = wanted.given_scale});
  std::vector<std::uint8_t> codes(matrix.values.size());
  cast_piece(recipe, wanted.elements, blocks, scales, {0, matrix.values}, codes);
  return stored_copy(recipe, wanted, blocks, scales, std::move(codes));
}

QuantizedCopy second_copy_of(const Recipe& recipe, const QuantizedCopy& first) {
  if (!is_derivable(recipe.second_copy))
    throw bad_input(
        std::string(recipe.name),
        "its column copy is another quantisation and needs the source; the row copy's codes do not "
        "determine it");
  SC_ASSERT(first.direction == Direction::row, "the first copy is the row copy");
  QuantizedCopy second = first;
  second.direction = Direction::column;
  second.stored = first.stored.transposed();
  second.codes = transposed(first.stored, first.codes);
  second.scales = scale_plane(recipe.scale_format, recipe.column_scales,
                              {first.scales.grid, grid_in(first.scales, recipe.row_scales)});
  return second;
}

std::vector<float> dequantize(const Recipe& recipe, const QuantizedCopy& copy) {
  const Blocks blocks = blocks_of(recipe, copy.direction, copy.source);
  const std::vector<std::uint32_t> grid = grid_in(copy.scales, storage_of(recipe, copy.direction));
  const bool turned = is_stored_transposed(recipe, copy.direction);
  const auto codes = turned ? transposed(copy.stored, copy.codes) : copy.codes;
  std::vector<float> values(codes.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto block = static_cast<std::size_t>(blocks.of(static_cast<std::int64_t>(i)));
    const float inverse = decode(format_of(recipe.scale_format), grid[block]);
    // Two levels: the first product has at most 6 significant bits and is exact (fp8 6.7).
    const float value = decode(format_of(copy.elements), codes[i]) * inverse;
    values[i] = recipe.formula == ScaleFormula::two_level ? value * copy.tensor_inverse : value;
  }
  return values;
}

}  // namespace shardcheck::recipe
