// One pass over a matrix that makes both of its quantised copies, tile by tile, on all ranks of
// a GPU in one launch. Next: quantize_tiles.cuh, the kernel; quantize_matrix.h, which chooses the scheme.
#pragma once

#include <cuda_runtime.h>

#include "backends/cuda/block_ops.h"

namespace shardcheck::gpu {

/// Which elements of a tile share a scale.
enum class TileScheme : std::uint8_t {
  lines32,    ///< 32 along the direction of the copy
  lines128,   ///< 128 along it
  square32,   ///< 32 x 32, in both copies
  square128,  ///< all
  given,      ///< blocks are larger than a tile: their factors are there already
};

/// Rows and columns of a tile. Blocks of 32 by 32 x 512: then 16 scales of a row are neighbours.
constexpr int tile_rows_of(TileScheme scheme) {
  return scheme == TileScheme::lines32 || scheme == TileScheme::square32 ? 32 : 128;
}
constexpr int tile_columns_of(TileScheme scheme) {
  return 128 * 128 / tile_rows_of(scheme);
}

struct TileJob {
  /// Operands of QuantizeMatrix: source; codes and scales of the row copy; of the column copy. A null address
  /// of codes: the copy is not made. `aligned`: every address is a multiple of 16, and so is each row and
  /// each stored row.
  OperandTable table;
  long long rows, columns;
  long long tile_rows, tile_columns;
  PlaneShape row_plane, column_plane;
  ScaleRule rule;
  bool turns;  ///< the column copy is stored transposed
  /// `given`: rank r has factors from [r * stride] on; one, or one a row (a column).
  const float *row_factors, *column_factors;
  long long row_stride, column_stride;
  bool a_factor_a_line;
};

/// Enqueues the job for one type of numbers; each in a file of its own, because they take long to compile.
void launch_tiles_of_f32(const TileJob& job, DType codes, TileScheme scheme, cudaStream_t stream);
void launch_tiles_of_bf16(const TileJob& job, DType codes, TileScheme scheme, cudaStream_t stream);
void launch_tiles_of_f16(const TileJob& job, DType codes, TileScheme scheme, cudaStream_t stream);

}  // namespace shardcheck::gpu
