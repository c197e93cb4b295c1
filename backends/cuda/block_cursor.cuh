// Walks along the elements of a row-major matrix and knows the block of each: one division a pack, none a
// step. Next: block_ops.cu.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backends/cuda/block_shapes.h"

namespace shardcheck::gpu {

/// a / divisor for 0 <= a.
inline __device__ long long quotient_of(long long a, const Divider& by) {
  if (by.multiplier != 0 && a >> 31 == 0) {
    return __umulhi(static_cast<std::uint32_t>(a), by.multiplier) >> by.shift;
  }
  return by.divisor == 1 ? a : a / by.divisor;
}

struct BlockCursor {
  long long row, column;  ///< of the element
  long long block_row, block_column;
  long long left;  ///< elements of the block in this row, from the element on

  /// `element` counts row-major from the begin of the matrix, which is not empty.
  __device__ BlockCursor(const BlockGrid& grid, long long element) {
    row = quotient_of(element, grid.by_columns);
    column = element - row * grid.columns;
    block_row = quotient_of(row, grid.by_height);
    enter(grid);
  }

  /// To the next element.
  __device__ void advance(const BlockGrid& grid) {
    ++column;
    if (--left > 0) return;
    if (column < grid.columns) {
      ++block_column;
      left = min(grid.width, grid.columns - column);
      return;
    }
    column = 0;
    block_row = quotient_of(++row, grid.by_height);
    enter(grid);
  }

  __device__ long long block(const BlockGrid& grid) const {
    return block_row * grid.grid_columns + block_column;
  }

 private:
  __device__ void enter(const BlockGrid& grid) {
    block_column = quotient_of(column, grid.by_width);
    left = min((block_column + 1) * grid.width, grid.columns) - column;
  }
};

}  // namespace shardcheck::gpu
