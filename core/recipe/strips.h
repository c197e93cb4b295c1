// Quantise a matrix that does not fit memory: strips of whole rows, each read, measured, scaled and cast on
// one of several threads, and handed over with the scales that it used. Invariant: codes and scales are those
// of quantize() on the whole matrix, whatever the strips and threads; only the payload of a NaN scale may be
// another. Read next: fast_quantize.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "core/layout/range.h"
#include "core/recipe/quantize.h"

namespace shardcheck::recipe {

/// A matrix whose rows can be read as fp32 numbers, from any thread.
struct RowSource {
  Extent extent;
  std::function<void(layout::Range rows, std::span<float> into)> read;
};

/// How to go through it.
struct StripOptions {
  Direction direction = Direction::row;
  FormatId elements = FormatId::e4m3;
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;  ///< when it becomes true, strips that have not begun are left out
};

/// A part of a quantised copy, in the order of the source.
struct QuantizedStrip {
  layout::Range rows;
  layout::Range blocks;                ///< those that the rows lie in, row-major over the grid
  std::span<const BlockScale> scales;  ///< of `blocks`
  std::span<const std::uint8_t> codes;
  std::span<const float> values;  ///< of the source
};

/// Rows of a strip: as many whole blocks as a core's cache holds, at least one. Blocks that are as high
/// as the matrix do not count.
std::int64_t strip_rows(const Blocks& blocks);

/// The blocks of some rows, as a matrix of its own. `rows` begins with a block, unless blocks are as high as
/// the matrix.
Blocks blocks_of_rows(const Blocks& whole, layout::Range rows);
/// Their numbers in the whole grid.
layout::Range block_range(const Blocks& whole, layout::Range rows);

/// Hands every strip to `take`, from any thread. Reads the source twice where scales depend on more than a
/// strip. The recipe's formula is not `given`. Exactness class: exact.
TensorScale quantize_in_strips(const Recipe& recipe, const StripOptions& options, const RowSource& source,
                               const std::function<void(const QuantizedStrip& strip)>& take);

}  // namespace shardcheck::recipe
