#include "properties/recipe_law/block_machine.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/assert.h"
#include "core/numerics/decode.h"
#include "core/recipe/catalogue.h"
#include "properties/fingerprint/one_op.h"

namespace shardcheck {
namespace {

using namespace recipe;

std::ptrdiff_t index_of(const Recipe& recipe) {
  return &recipe - recipes().data();
}
bool is_of_catalogue(const Recipe& recipe) {
  return std::ranges::any_of(recipes(), [&](const Recipe& each) { return &each == &recipe; });
}

BlockCopy copy_of(const Recipe& recipe, Direction direction, Extent extent) {
  SC_ASSERT(is_of_catalogue(recipe), "ops name recipes of the catalogue");
  return {.recipe = static_cast<std::int8_t>(index_of(recipe)),
          .direction = direction,
          .rows = extent.rows,
          .columns = extent.columns};
}

DType type_of(FormatId elements) {
  return elements == FormatId::e4m3 ? DType::e4m3 : DType::e5m2;
}
DType type_of_scales(const Recipe& recipe) {
  return recipe.scale_format == FormatId::f32 ? DType::f32 : DType::u8;
}

template <class Element>
std::vector<std::byte> bytes_of_list(std::span<const Element> list) {
  const auto bytes = std::as_bytes(list);
  return {bytes.begin(), bytes.end()};
}
OpOperand floats(std::span<const float> values) {
  return {DType::f32, {bytes_of_list(values)}};
}
std::vector<float> floats_in(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// A plane of that copy with scales of zero.
ScalePlane empty_plane(const Recipe& recipe, Direction direction, Extent grid) {
  const std::vector<std::uint32_t> zeros(static_cast<std::size_t>(grid.numel()));
  return scale_plane(recipe.scale_format, storage_of(recipe, direction), {grid, zeros});
}

/// Codes as they are stored, in the order of the source.
std::vector<std::uint8_t> in_source_order(const QuantizedCopy& copy, const Recipe& recipe) {
  const bool turned =
      copy.direction == Direction::column && recipe.second_copy != SecondCopy::requantised_in_place;
  if (!turned) return copy.codes;
  std::vector<std::uint8_t> codes(copy.codes.size());
  for (std::int64_t i = 0; i < std::ssize(codes); ++i) {
    const std::int64_t row = i / copy.source.columns, column = i % copy.source.columns;
    codes[static_cast<std::size_t>(i)] =
        copy.codes[static_cast<std::size_t>(column * copy.source.rows + row)];
  }
  return codes;
}

}  // namespace

bool has_block_ops(const Recipe& recipe, FormatId elements) {
  return is_of_catalogue(recipe) && recipe.formula != ScaleFormula::two_level &&
         recipe.formula != ScaleFormula::given && (elements == FormatId::e4m3 || elements == FormatId::e5m2);
}

void BlockMachine::take_amaxes(const Recipe& recipe, const Blocks& blocks, const Piece& piece,
                               std::span<float> amaxes) const {
  if (piece.values.empty()) return;
  const OpOperand operands[] = {floats(piece.values), floats(amaxes)};
  const TakeAmax take{copy_of(recipe, Direction::row, blocks.extent), piece.lo};
  const auto result = floats_in(execute_op(backend_, take, operands).ranks.front());
  if (result.empty()) return recipe::take_amaxes(blocks, recipe.amax_nan, piece, amaxes);
  std::ranges::copy(result, amaxes.begin());
}

Scales BlockMachine::scales(const Recipe& recipe, std::span<const float> amaxes) const {
  Scales scales = scales_of(recipe, recipe.forward, {.amaxes = amaxes});
  const BlockCopy one = copy_of(recipe, Direction::row, {1, 1});
  const ScalePlane plane = empty_plane(recipe, Direction::row, {1, 1});
  OpOperand in{DType::f32, {}}, factors{DType::f32, {}}, stored{type_of_scales(recipe), {}};
  for (const float amax : amaxes) {
    in.ranks.push_back(bytes_of_list(std::span(&amax, 1)));
    factors.ranks.emplace_back(sizeof(float));
    stored.ranks.push_back(plane.bytes);
  }
  const OpOperand operands[] = {in, factors, stored};
  const auto results = execute_whole_op(backend_, ScaleFromAmax{one}, operands);
  for (std::size_t i = 0; i < amaxes.size(); ++i) {
    if (results[1].ranks[i].empty()) continue;
    ScalePlane made = plane;
    made.bytes = results[2].ranks[i];
    BlockScale& scale = scales.blocks[i];
    scale.stored = grid_in(made, recipe.row_scales).front();
    scale.factor = floats_in(results[1].ranks[i]).front();
    scale.inverse = decode(format_of(recipe.scale_format), scale.stored);
  }
  return scales;
}

QuantizedCopy BlockMachine::quantized(const Recipe& recipe, const Wanted& wanted,
                                      const Matrix& matrix) const {
  const bool by_row = wanted.direction == Direction::row;
  const Blocks blocks = blocks_of(recipe, wanted.direction, matrix.extent);
  QuantizedCopy copy{.direction = wanted.direction, .elements = wanted.elements, .source = matrix.extent};
  copy.stored = by_row || recipe.second_copy == SecondCopy::requantised_in_place ? matrix.extent
                                                                                 : matrix.extent.transposed();
  copy.scales = empty_plane(recipe, wanted.direction, blocks.grid);
  constexpr auto kUnwritten = std::byte{0xA5};
  const OpOperand codes{type_of(wanted.elements), {std::vector<std::byte>(matrix.values.size(), kUnwritten)}};
  const OpOperand plane{type_of_scales(recipe), {copy.scales.bytes}};
  const OpOperand no_codes{codes.type, {{}}}, no_plane{plane.type, {{}}};
  const OpOperand operands[] = {floats(matrix.values), by_row ? codes : no_codes, by_row ? plane : no_plane,
                                by_row ? no_codes : codes, by_row ? no_plane : plane};
  const auto results =
      execute_whole_op(backend_, QuantizeMatrix{copy_of(recipe, wanted.direction, matrix.extent)}, operands);
  const std::size_t at = by_row ? 1 : 3;
  if (results.front().ranks.front().empty()) return recipe::quantize(recipe, wanted, matrix);
  for (const std::byte code : results[at].ranks.front())
    copy.codes.push_back(static_cast<std::uint8_t>(code));
  copy.scales.bytes = results[at + 1].ranks.front();
  return copy;
}

std::vector<float> BlockMachine::dequantized(const Recipe& recipe, const QuantizedCopy& copy) const {
  const std::vector<std::uint8_t> codes = in_source_order(copy, recipe);
  const OpOperand operands[] = {
      {type_of(copy.elements), {bytes_of_list(std::span<const std::uint8_t>(codes))}},
      {type_of_scales(recipe), {copy.scales.bytes}},
      floats(std::vector<float>(codes.size()))};
  const DequantizeBlocks op{copy_of(recipe, copy.direction, copy.source), 0};
  const auto result = floats_in(execute_op(backend_, op, operands).ranks.front());
  return result.empty() ? recipe::dequantize(recipe, copy) : result;
}

}  // namespace shardcheck
