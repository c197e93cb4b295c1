// A thread turns squares of 8 x 8 bytes in registers; they meet in shared memory in units of 8 bytes of a
// column: unit u of column k lies at u ^ (k / 16 * 2), so that neither side meets a bank twice.
#include <algorithm>

#include "backends/cuda/block_scale.cuh"
#include "backends/cuda/check.h"
#include "backends/cuda/transpose_bytes.h"

namespace shardcheck::gpu {

constexpr int kTileRows = 256, kTileColumns = 128, kTransposeThreads = 256;

/// Four rows of four bytes become four columns.
inline __device__ void turn_four(std::uint32_t (&x)[4]) {
  const std::uint32_t a = __byte_perm(x[0], x[1], 0x5140), b = __byte_perm(x[2], x[3], 0x5140);
  const std::uint32_t c = __byte_perm(x[0], x[1], 0x7362), d = __byte_perm(x[2], x[3], 0x7362);
  x[0] = __byte_perm(a, b, 0x5410);
  x[1] = __byte_perm(a, b, 0x7632);
  x[2] = __byte_perm(c, d, 0x5410);
  x[3] = __byte_perm(c, d, 0x7632);
}

/// Eight rows of eight bytes become eight columns.
inline __device__ void turn_eight(uint2 (&x)[8]) {
  std::uint32_t quarter[4][4];  // upper left, upper right, lower left, lower right
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    quarter[0][i] = x[i].x;
    quarter[1][i] = x[i].y;
    quarter[2][i] = x[i + 4].x;
    quarter[3][i] = x[i + 4].y;
  }
#pragma unroll
  for (auto& each : quarter) turn_four(each);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x[i] = {quarter[0][i], quarter[2][i]};
    x[i + 4] = {quarter[1][i], quarter[3][i]};
  }
}

/// 8 bytes of a line from `at` on, as far as they exist.
inline __device__ uint2 load_eight(const std::uint8_t* line, long long at, long long end) {
  std::uint32_t half[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (at + i < end) half[i / 4] |= static_cast<std::uint32_t>(line[at + i]) << 8 * (i % 4);
  }
  return {half[0], half[1]};
}
inline __device__ void store_sixteen(std::uint8_t* line, long long at, long long end, uint4 bytes) {
  const std::uint32_t words[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    if (at + i < end) line[at + i] = static_cast<std::uint8_t>(words[i / 4] >> 8 * (i % 4));
  }
}

/// Block (i, j) of the grid that place `place` of a plane holds; outside the grid it is padding.
struct PlaneBlock {
  long long i, j;
  __device__ PlaneBlock(const PlaneShape& plane, long long place) {
    const long long row = place / plane.stored_columns;
    const long long column = place - row * plane.stored_columns;
    i = plane.transposed ? column : row;
    j = plane.transposed ? row : column;
  }
  __device__ bool is_in(const PlaneShape& plane) const {
    return i < plane.grid_rows && j < plane.grid_columns;
  }
};

/// The scales of one plane in the places of another, by `turns` thread blocks of which this is number `turn`.
inline __device__ void lay_out_scales(const OperandTable& table, const PlanePair& planes, unsigned turn,
                                      unsigned turns) {
  const void* const from = table.at[1][blockIdx.y];
  void* const to = table.at[3][blockIdx.y];
  const long long places = planes.to.stored_rows * planes.to.stored_columns;
  for (long long place = static_cast<long long>(turn) * kTransposeThreads + threadIdx.x; place < places;
       place += static_cast<long long>(turns) * kTransposeThreads) {
    const PlaneBlock block(planes.to, place);
    std::uint32_t bits = 0;
    if (block.is_in(planes.to)) {
      const long long at = place_of(planes.from, block.i, block.j);
      bits = planes.from.are_codes ? static_cast<const std::uint8_t*>(from)[at]
                                   : static_cast<const std::uint32_t*>(from)[at];
    }
    store_scale(planes.to, to, place, bits);
  }
}

/// A tile is 256 rows of 128 bytes; a thread turns two neighbouring squares of 8 x 8 bytes. Thread blocks
/// past the tiles see to the scales.
__global__ void __launch_bounds__(kTransposeThreads, 4)
    derive_column_copy(const __grid_constant__ OperandTable table, const long long rows,
                       const long long columns, const int tile_rows, const int tile_columns,
                       const __grid_constant__ PlanePair planes) {
  const auto tiles = static_cast<unsigned>(tile_rows * tile_columns);
  if (blockIdx.x >= tiles) return lay_out_scales(table, planes, blockIdx.x - tiles, gridDim.x - tiles);
  __shared__ alignas(16) uint2 turned[kTileColumns][kTileRows / 8];
  const auto* const from = static_cast<const std::uint8_t*>(table.at[0][blockIdx.y]);
  auto* const to = static_cast<std::uint8_t*>(table.at[2][blockIdx.y]);
  const int tile = static_cast<int>(blockIdx.x);
  const long long row0 = static_cast<long long>(tile / tile_columns) * kTileRows;
  const long long column0 = static_cast<long long>(tile % tile_columns) * kTileColumns;
  const int thread = static_cast<int>(threadIdx.x), group = thread % 8, eighth = thread / 8;

  uint2 bytes[2][8];
  const long long row = row0 + 8 * eighth, column = column0 + 16 * group;
  const bool whole = table.aligned && row + 8 <= rows && column + 16 <= columns;
#pragma unroll
  for (int p = 0; p < 8; ++p) {
    const std::uint8_t* const at = from + (row + p) * columns;
    if (whole) {
      const uint4 sixteen = *reinterpret_cast<const uint4*>(at + column);
      bytes[0][p] = {sixteen.x, sixteen.y};
      bytes[1][p] = {sixteen.z, sixteen.w};
    } else {
      bytes[0][p] = row + p < rows ? load_eight(at, column, columns) : uint2{0, 0};
      bytes[1][p] = row + p < rows ? load_eight(at, column + 8, columns) : uint2{0, 0};
    }
  }
#pragma unroll
  for (int square = 0; square < 2; ++square) {
    turn_eight(bytes[square]);
#pragma unroll
    for (int j = 0; j < 8; ++j) turned[16 * group + 8 * square + j][eighth ^ 2 * group] = bytes[square][j];
  }
  __syncthreads();
#pragma unroll
  for (int turn = 0; turn < 8; ++turn) {
    const int unit = turn * kTransposeThreads + thread, k = unit / 16, pair = unit % 16;
    if (column0 + k >= columns) return;
    const uint4 sixteen = reinterpret_cast<const uint4*>(turned[k])[pair ^ k / 16];
    std::uint8_t* const out = to + (column0 + k) * rows;
    const long long at = row0 + 16 * pair;
    if (table.aligned && at + 16 <= rows) {
      *reinterpret_cast<uint4*>(out + at) = sixteen;
    } else {
      store_sixteen(out, at, rows, sixteen);
    }
  }
}

__global__ void __launch_bounds__(kTransposeThreads)
    zero_padding(const __grid_constant__ OperandTable table, const int operand, const PlaneShape plane) {
  void* const stored = table.at[operand][blockIdx.y];
  const long long places = plane.stored_rows * plane.stored_columns;
  for (long long place = static_cast<long long>(blockIdx.x) * kTransposeThreads + threadIdx.x; place < places;
       place += static_cast<long long>(gridDim.x) * kTransposeThreads) {
    if (!PlaneBlock(plane, place).is_in(plane)) store_scale(plane, stored, place, 0);
  }
}

namespace {

dim3 grid_over(const PlaneShape& plane, const OperandTable& table) {
  const long long places = plane.stored_rows * plane.stored_columns;
  const long long blocks = (places + kTransposeThreads - 1) / kTransposeThreads;
  return {static_cast<unsigned>(std::clamp(blocks, 1LL, 1LL << 16)), static_cast<unsigned>(table.ranks)};
}

int tiles_over(long long extent, int edge) {
  return static_cast<int>((extent + edge - 1) / edge);
}

}  // namespace

void launch_derive_column_copy(const OperandTable& table, long long rows, long long columns,
                               const PlanePair& planes, cudaStream_t stream) {
  OperandTable whole = table;
  whole.aligned = table.aligned && rows % 16 == 0 && columns % 16 == 0;
  const int tile_rows = tiles_over(rows, kTileRows), tile_columns = tiles_over(columns, kTileColumns);
  dim3 grid = grid_over(planes.to, table);
  grid.x += static_cast<unsigned>(tile_rows) * static_cast<unsigned>(tile_columns);
  derive_column_copy<<<grid, kTransposeThreads, 0, stream>>>(whole, rows, columns, tile_rows, tile_columns,
                                                             planes);
  check(cudaGetLastError(), "launch of a derived column copy");
}

void launch_zero_padding(const OperandTable& table, int operand, const PlaneShape& plane,
                         cudaStream_t stream) {
  if (!plane.has_padding()) return;
  zero_padding<<<grid_over(plane, table), kTransposeThreads, 0, stream>>>(table, operand, plane);
  check(cudaGetLastError(), "launch of padding");
}

}  // namespace shardcheck::gpu
