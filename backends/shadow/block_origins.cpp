#include "backends/shadow/block_origins.h"

#include <algorithm>
#include <optional>

#include "core/integers.h"
#include "core/recipe/catalogue.h"
#include "core/recipe/quantize.h"

namespace shardcheck::shadowing {
namespace {

using recipe::Direction;
using recipe::Extent;

const recipe::Recipe& recipe_of(const BlockCopy& of) {
  return recipe::recipes()[static_cast<std::size_t>(of.recipe)];
}
recipe::Blocks blocks_of(const BlockCopy& of) {
  return recipe::blocks_of(recipe_of(of), of.direction, {of.rows, of.columns});
}
BlockCopy turned_to(BlockCopy of, Direction direction) {
  of.direction = direction;
  return of;
}

/// A plane of stored scales, as recipe::scale_plane lays it out.
struct Plane {
  Extent grid;
  bool transposed;
  std::int64_t columns;

  explicit Plane(const BlockCopy& of) : grid(blocks_of(of).grid) {
    const recipe::ScaleStorage& storage = recipe::storage_of(recipe_of(of), of.direction);
    transposed = storage.transposed;
    columns = round_up((transposed ? grid.transposed() : grid).columns, storage.column_multiple);
  }
  /// The block whose scale lies there, or nothing for padding.
  std::optional<std::int64_t> block_at(std::int64_t place) const {
    const std::int64_t row = place / columns, column = place % columns;
    const std::int64_t i = transposed ? column : row, j = transposed ? row : column;
    if (i >= grid.rows || j >= grid.columns) return std::nullopt;
    return i * grid.columns + j;
  }
  std::int64_t place_of(std::int64_t block) const {
    const std::int64_t i = block / grid.columns, j = block % grid.columns;
    return transposed ? j * columns + i : i * columns + j;
  }
};

/// Elements of the matrix from `begin` up to `end`.
struct Piece {
  std::int64_t begin, end;
};
/// Those of a block that lie in the piece: its first row there, or a block of one column as a whole.
std::vector<Origin> elements_of_block(const recipe::Blocks& blocks, std::int64_t block, Piece piece) {
  const std::int64_t row0 = block / blocks.grid.columns * blocks.height,
                     column0 = block % blocks.grid.columns * blocks.width;
  const std::int64_t row_end = std::min(row0 + blocks.height, blocks.extent.rows);
  const std::int64_t width = std::min(blocks.width, blocks.extent.columns - column0);
  for (std::int64_t row = row0; row < row_end; ++row) {
    const std::int64_t line = row * blocks.extent.columns + column0;
    const std::int64_t begin = std::max(line, piece.begin), end = std::min(line + width, piece.end);
    if (begin >= end) continue;
    if (width > 1) return {{"of the block", 0, begin - piece.begin, end - begin, 1}};
    const std::int64_t rows = std::min(row_end - row, div_ceil(piece.end - begin, blocks.extent.columns));
    return {{"of the block", 0, begin - piece.begin, rows, blocks.extent.columns}};
  }
  return {};
}

}  // namespace

std::vector<Origin> origins_of(const TakeAmax& take, BlockElement written, std::int64_t numel) {
  std::vector<Origin> origins =
      elements_of_block(blocks_of(take.of), written.element, {take.start, take.start + numel});
  origins.push_back({"raised from", 1, written.element});
  return origins;
}

std::vector<Origin> origins_of(const ScaleFromAmax& scale, BlockElement written) {
  if (written.operand == 1) return {{"amax", 0, written.element}};
  const auto block = Plane(scale.of).block_at(written.element);
  if (!block) return {};
  return {{"amax", 0, *block}};
}

std::vector<Origin> origins_of(const QuantizeBlocks& quantize, BlockElement written) {
  return {{"source", 0, written.element},
          {"factor", 1, blocks_of(quantize.of).of(quantize.start + written.element)}};
}

std::vector<Origin> origins_of(const DequantizeBlocks& dequantize, BlockElement written) {
  const std::int64_t block = blocks_of(dequantize.of).of(dequantize.start + written.element);
  return {{"code", 0, written.element}, {"stored scale", 1, Plane(dequantize.of).place_of(block)}};
}

std::vector<Origin> origins_of(const QuantizeMatrix& quantize, BlockElement written) {
  const bool is_row = written.operand <= 2, is_codes = written.operand % 2 == 1;
  const BlockCopy of = turned_to(quantize.of, is_row ? Direction::row : Direction::column);
  if (is_codes) {
    const bool turns = !is_row && recipe_of(of).second_copy != recipe::SecondCopy::requantised_in_place;
    if (!turns) return {{"source", 0, written.element}};
    return {{"source", 0, written.element % of.rows * of.columns + written.element / of.rows}};
  }
  const auto block = Plane(of).block_at(written.element);
  if (!block) return {};
  return elements_of_block(blocks_of(of), *block, {0, of.rows * of.columns});
}

std::vector<Origin> origins_of(const DeriveColumnCopy& derive, BlockElement written) {
  const BlockCopy& of = derive.of;
  if (written.operand == 2) {
    return {{"row code", 0, written.element % of.rows * of.columns + written.element / of.rows}};
  }
  const auto block = Plane(turned_to(of, Direction::column)).block_at(written.element);
  if (!block) return {};
  return {{"row scale", 1, Plane(turned_to(of, Direction::row)).place_of(*block)}};
}

}  // namespace shardcheck::shadowing
