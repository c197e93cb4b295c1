#include "core/recipe/blocks.h"

#include <algorithm>
#include <cmath>

#include "core/assert.h"
#include "core/integers.h"

namespace shardcheck::recipe {
namespace {

/// A block's edge along a dimension, and how many there are. 0 asks for the whole dimension.
struct Tiling {
  std::int64_t edge, count;
};
Tiling tiling(std::int64_t wanted, std::int64_t extent) {
  if (wanted == 0) return {std::max<std::int64_t>(extent, 1), 1};
  return {wanted, div_ceil(extent, wanted)};
}

}  // namespace

Blocks blocks_of(BlockShape shape, Direction direction, Extent extent) {
  const bool by_row = direction == Direction::row;
  const Tiling rows = tiling(by_row ? shape.across : shape.along, extent.rows);
  const Tiling columns = tiling(by_row ? shape.along : shape.across, extent.columns);
  return {extent, rows.edge, columns.edge, {rows.count, columns.count}};
}

float larger(AmaxNan nan, float a, float b) {
  if (std::isnan(a)) return nan == AmaxNan::propagate ? a : b;
  if (std::isnan(b)) return nan == AmaxNan::propagate ? b : a;
  return std::max(a, b);
}

void take_amaxes(const Blocks& blocks, AmaxNan nan, const Piece& piece, std::span<float> amaxes) {
  SC_ASSERT(std::ssize(amaxes) == blocks.count(), "not one amax a block");
  SC_ASSERT(piece.lo >= 0 && piece.lo + std::ssize(piece.values) <= blocks.extent.numel(),
            "a piece lies outside its matrix");
  for (std::int64_t i = 0; i < std::ssize(piece.values); ++i) {
    float& amax = amaxes[static_cast<std::size_t>(blocks.of(piece.lo + i))];
    const float magnitude = std::abs(piece.values[static_cast<std::size_t>(i)]);
    // A group of nothing but NaN keeps 0 when they are dropped (fp8 3.0).
    amax = larger(nan, amax, magnitude);
  }
}

}  // namespace shardcheck::recipe
