// A tile in the hands of a thread block: where each thread stands, what the threads share, and how a thread's
// elements come into registers. Next: tile_scales.cuh, quantize_tiles.cuh.
#pragma once

#include "backends/cuda/quantize_tiles.h"
#include "backends/cuda/tile_lines.cuh"

namespace shardcheck::gpu {

constexpr int kTile = 128, kTileThreads = 256, kTileWarps = 8;

template <class S>
struct TileMemory {
  float row[kTile * 4];  ///< amaxes of blocks along rows, then their factors: [row][block]
  Magnitudes<S> of_warp[kTileWarps][kTile / 2];  ///< of columns, two by two; of squares, in the first ones
  float column[4][kTile];                        ///< factors of blocks along columns, and of squares
  alignas(16) std::uint64_t turned[kTile][kTile / 8];
};

/// Where a thread stands.
template <TileScheme kScheme>
struct TilePlace {
  static constexpr int kRows = tile_rows_of(kScheme), kColumns = tile_columns_of(kScheme);
  static constexpr int kDown = kRows / 16;       ///< warps below each other
  static constexpr int kBlocks = kColumns / 32;  ///< of 32 in a row

  long long tile_row, tile_column, row0, column0;  ///< the tile, and its first element
  int warp_row, warp_column, lane, half, line;     ///< 8 rows from first_row() on, 8 columns
  bool whole;                                      ///< all 64 elements exist, and accesses are aligned

  __device__ explicit TilePlace(const TileJob& job) {
    // Neighbours in a launch lie below each other in strips of some tiles: lines of a transposed copy are
    // completed by tiles that run together.
    constexpr unsigned kStrip = kDown == kTileWarps ? 2 : 1;
    const auto columns = static_cast<unsigned>(job.tile_columns), rows = static_cast<unsigned>(job.tile_rows);
    const unsigned strip = blockIdx.x / (kStrip * columns), inside = blockIdx.x % (kStrip * columns);
    const unsigned height = min(kStrip, rows - strip * kStrip);
    tile_row = strip * kStrip + inside % height;
    tile_column = inside / height;
    row0 = tile_row * kRows;
    column0 = tile_column * kColumns;
    const int warp = static_cast<int>(threadIdx.x / 32);
    warp_row = warp % kDown;
    warp_column = warp / kDown;
    lane = static_cast<int>(threadIdx.x % 32);
    half = lane / 16;
    line = lane % 16;
    whole = job.table.aligned && row() + kEdge <= job.rows && column() + kEdge <= job.columns;
  }
  __device__ int first_row() const { return 16 * warp_row + 8 * half; }
  __device__ long long row() const { return row0 + first_row(); }
  __device__ long long column() const { return column0 + kTile * warp_column + 8 * line; }
  /// The block of 32 of a row that the thread's elements lie in.
  __device__ int block() const { return 4 * warp_column + line / 4; }
};

/// Elements outside the matrix are +0, which no maximum sees.
template <class S, TileScheme kScheme>
__device__ void load(const TileJob& job, const TilePlace<kScheme>& place, Lines<S>& lines) {
  const auto* const source = static_cast<const typename S::Stored*>(job.table.at[0][blockIdx.y]);
  const long long row = place.row(), column = place.column();
  const auto* const from = source + row * job.columns + column;
  if (place.whole) {
#pragma unroll
    for (int p = 0; p < kEdge; ++p) lines.load(p, from + p * job.columns);
    return;
  }
#pragma unroll
  for (int p = 0; p < kEdge; ++p) {
#pragma unroll
    for (int j = 0; j < kEdge; ++j) {
      const bool inside = row + p < job.rows && column + j < job.columns;
      lines.put(p, j, inside ? from[p * job.columns + j] : typename S::Stored{0});
    }
  }
}

}  // namespace shardcheck::gpu
