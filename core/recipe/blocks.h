// Blocks: which block of a matrix an element belongs to, and the largest magnitude of every block, over the
// whole matrix or over any piece of it. Invariant: amaxes of pieces, combined by larger(), are the amaxes of
// the whole (F18, F19). Read next: scales.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/recipe/recipe.h"

namespace shardcheck::recipe {

/// How blocks tile a matrix; edge blocks hold the elements that exist (fp8 4.5 p3). Row-major numbers.
struct Blocks {
  Extent extent;
  std::int64_t height = 1, width = 1;  ///< of a whole block
  Extent grid;                         ///< a recipe for whole tensors has a grid of 1 x 1, even of nothing

  std::int64_t count() const { return grid.numel(); }
  /// The block of an element, both by row-major position.
  std::int64_t of(std::int64_t element) const {
    return element / extent.columns / height * grid.columns + element % extent.columns / width;
  }
};

Blocks blocks_of(BlockShape shape, Direction direction, Extent extent);

/// Contiguous elements of a flattened matrix, beginning at `lo`.
struct Piece {
  std::int64_t lo = 0;
  std::span<const float> values;
};

/// The larger of two magnitudes; NaN by the policy, whichever side it is on (F19). Exact.
float larger(AmaxNan nan, float a, float b);

/// amaxes[b] := the larger of it and of the magnitudes of the piece in block b. An element of `amaxes` is 0
/// where nothing was seen. Exact; independent of the order of pieces. Source: fp8 4.3.
void take_amaxes(const Blocks& blocks, AmaxNan nan, const Piece& piece, std::span<float> amaxes);

}  // namespace shardcheck::recipe
