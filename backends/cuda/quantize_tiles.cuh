// The kernel of quantize_tiles.h. A tile is 8 warps of 16 rows and 128 columns, one below the other, or where
// blocks are of 32, two below each other and four side by side, so that more scales of a row are neighbours.
// A thread holds 8 rows of 8 neighbours: a warp reads and writes whole lines, and the codes of a column are
// neighbours in a thread, ready for the transposed copy. Three phases, with the tile in registers: largest
// magnitudes, scales, codes. The transposed copy goes through shared memory in units of 8 codes; unit u of
// column k lies at u ^ (k / 8), so that neither side meets a bank twice.
#pragma once

#include "backends/cuda/fp8.cuh"
#include "backends/cuda/tile_scales.cuh"

namespace shardcheck::gpu {

template <class S, TileScheme kScheme>
__device__ float row_factor(const TileMemory<S>& memory, const TilePlace<kScheme>& place, int p) {
  const int row = place.first_row() + p;
  switch (kScheme) {
    case TileScheme::lines32: return memory.row[row * TilePlace<kScheme>::kBlocks + place.block()];
    case TileScheme::square32: return memory.column[place.warp_column][place.line / 4];
    case TileScheme::square128: return memory.column[0][0];
    default: return memory.row[row];
  }
}
template <class S, TileScheme kScheme>
__device__ float column_factor(const TileMemory<S>& memory, const TilePlace<kScheme>& place, int j) {
  switch (kScheme) {
    case TileScheme::square32: return memory.column[place.warp_column][place.line / 4];
    case TileScheme::square128: return memory.column[0][0];
    default: return memory.column[place.warp_column][8 * place.line + j];
  }
}

/// 8 codes of a line from `column` on; those beyond `end` do not exist.
inline __device__ void store_line(std::uint8_t* line, long long column, long long end, bool whole,
                                  std::uint64_t codes) {
  if (whole) {
    *reinterpret_cast<std::uint64_t*>(line + column) = codes;
    return;
  }
#pragma unroll
  for (int j = 0; j < kEdge; ++j) {
    if (column + j < end) line[column + j] = static_cast<std::uint8_t>(codes >> 8 * j);
  }
}

/// Eight codes in the order of memory.
template <class D>
__device__ std::uint64_t codes_of(const float (&values)[kEdge]) {
  std::uint32_t half[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const std::uint32_t low = convert_pair<D>(values[4 * h], values[4 * h + 1]);
    const std::uint32_t high = convert_pair<D>(values[4 * h + 2], values[4 * h + 3]);
    half[h] = __byte_perm(low, high, 0x5410);
  }
  return static_cast<std::uint64_t>(half[1]) << 32 | half[0];
}

/// The copies that lie as the source does; a null one is not made.
struct CopiesInPlace {
  std::uint8_t *row, *column;
};
template <class S, class D, TileScheme kScheme>
__device__ void write_in_place(const TileJob& job, const TilePlace<kScheme>& place, const Lines<S>& lines,
                               const TileMemory<S>& memory, const CopiesInPlace& codes) {
  float by_column[kEdge];
#pragma unroll
  for (int j = 0; j < kEdge; ++j) {
    by_column[j] = codes.column == nullptr ? 0.0f : column_factor<S, kScheme>(memory, place, j);
  }
#pragma unroll
  for (int p = 0; p < kEdge; ++p) {
    const long long row = place.row() + p;
    if (row >= job.rows) return;
    float values[kEdge], scaled[kEdge];
#pragma unroll
    for (int j = 0; j < kEdge; ++j) values[j] = lines.at(p, j);
    if (codes.row != nullptr) {
      const float factor = row_factor<S, kScheme>(memory, place, p);
#pragma unroll
      for (int j = 0; j < kEdge; ++j) scaled[j] = __fmul_rn(values[j], factor);
      store_line(codes.row + row * job.columns, place.column(), job.columns, place.whole,
                 codes_of<D>(scaled));
    }
    if (codes.column != nullptr) {
#pragma unroll
      for (int j = 0; j < kEdge; ++j) scaled[j] = __fmul_rn(values[j], by_column[j]);
      store_line(codes.column + row * job.columns, place.column(), job.columns, place.whole,
                 codes_of<D>(scaled));
    }
  }
}

/// The codes of every column into shared memory, as rows.
template <class S, class D, TileScheme kScheme>
__device__ void turn(const TilePlace<kScheme>& place, const Lines<S>& lines, TileMemory<S>& memory) {
#pragma unroll
  for (int j = 0; j < kEdge; ++j) {
    const float factor = column_factor<S, kScheme>(memory, place, j);
    float scaled[kEdge];
#pragma unroll
    for (int p = 0; p < kEdge; ++p) scaled[p] = __fmul_rn(lines.at(p, j), factor);
    memory.turned[8 * place.line + j][(2 * place.warp_row + place.half) ^ place.line] = codes_of<D>(scaled);
  }
}

/// A tile's columns become rows of `rows` codes.
template <class S, TileScheme kScheme>
__device__ void write_turned(const TileJob& job, const TilePlace<kScheme>& place, const TileMemory<S>& memory,
                             std::uint8_t* codes) {
#pragma unroll
  for (int turn = 0; turn < 4; ++turn) {
    const int unit = turn * kTileThreads + static_cast<int>(threadIdx.x);
    const int k = unit / 8, two = unit % 8 * 2, at = k / 8;
    const long long column = place.column0 + k;
    if (column >= job.columns) return;
    std::uint8_t* const line = codes + column * job.rows;
    const ulonglong2 pair = reinterpret_cast<const ulonglong2*>(memory.turned[k])[(two ^ at) / 2];
    const ulonglong2 units = at % 2 == 0 ? pair : ulonglong2{pair.y, pair.x};
    if (job.table.aligned && place.row0 + 8 * two + 16 <= job.rows) {
      *reinterpret_cast<ulonglong2*>(line + place.row0 + 8 * two) = units;
    } else {
      store_line(line, place.row0 + 8 * two, job.rows, false, units.x);
      store_line(line, place.row0 + 8 * two + 8, job.rows, false, units.y);
    }
  }
}

/// Thread blocks of a multiprocessor. Measured on an H200: four where a copy lies in place, three where it is
/// turned (4 % and 1 % of the rate); two hold the registers of fp32.
template <class S, TileScheme kScheme>
inline constexpr int kBlocksAtOnce = std::is_same_v<S, F32>               ? 2
                                     : TilePlace<kScheme>::kRows == kTile ? 3
                                                                          : 4;

template <class S, class D, TileScheme kScheme>
__global__ void __launch_bounds__(kTileThreads, kBlocksAtOnce<S, kScheme>)
    quantize_tiles(const __grid_constant__ TileJob job) {
  __shared__ TileMemory<S> memory;
  const TilePlace<kScheme> place(job);
  Lines<S> lines;
  load(job, place, lines);
  if constexpr (kScheme == TileScheme::given) {
    take_given_factors(job, place, memory);
  } else if (job.rule.amax_nan == recipe::AmaxNan::propagate) {
    find_amaxes<S, kScheme, true>(lines, place, memory);
    __syncthreads();
    make_scales<S, kScheme, true>(job, place, memory);
  } else {
    find_amaxes<S, kScheme, false>(lines, place, memory);
    __syncthreads();
    make_scales<S, kScheme, false>(job, place, memory);
  }
  __syncthreads();
  auto* const row_codes = static_cast<std::uint8_t*>(job.table.at[1][blockIdx.y]);
  auto* const column_codes = static_cast<std::uint8_t*>(job.table.at[3][blockIdx.y]);
  const bool turns = column_codes != nullptr && job.turns;
  if constexpr (TilePlace<kScheme>::kRows == kTile) {
    if (turns) turn<S, D>(place, lines, memory);
  }
  write_in_place<S, D>(job, place, lines, memory, {row_codes, turns ? nullptr : column_codes});
  if constexpr (TilePlace<kScheme>::kRows == kTile) {
    if (!turns) return;
    __syncthreads();
    write_turned(job, place, memory, column_codes);
  }
}

template <class S, class D>
void launch_tiles(const TileJob& job, TileScheme scheme, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(job.tile_rows * job.tile_columns),
                  static_cast<unsigned>(job.table.ranks));
  switch (scheme) {
    case TileScheme::lines32:
      quantize_tiles<S, D, TileScheme::lines32><<<grid, kTileThreads, 0, stream>>>(job);
      break;
    case TileScheme::lines128:
      quantize_tiles<S, D, TileScheme::lines128><<<grid, kTileThreads, 0, stream>>>(job);
      break;
    case TileScheme::square32:
      quantize_tiles<S, D, TileScheme::square32><<<grid, kTileThreads, 0, stream>>>(job);
      break;
    case TileScheme::square128:
      quantize_tiles<S, D, TileScheme::square128><<<grid, kTileThreads, 0, stream>>>(job);
      break;
    case TileScheme::given:
      quantize_tiles<S, D, TileScheme::given><<<grid, kTileThreads, 0, stream>>>(job);
      break;
  }
}

}  // namespace shardcheck::gpu
