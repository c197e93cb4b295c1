// The kernel of quantize_tiles.h. A tile of 128 x 128 is 8 warps of 16 rows; a thread holds 8 rows of 8
// neighbours, so that a warp reads and writes whole lines, and the codes of a column are neighbours in a
// thread, ready for the transposed copy. Three phases, with the tile in registers: largest magnitudes,
// scales, codes. The transposed copy goes through shared memory in units of 8 codes; unit u of column k lies
// at u ^ (k / 8), so that neither side meets a bank twice.
#pragma once

#include "backends/cuda/block_scale.cuh"
#include "backends/cuda/fp8.cuh"
#include "backends/cuda/quantize_tiles.h"
#include "backends/cuda/tile_lines.cuh"

namespace shardcheck::gpu {

constexpr int kTile = 128, kTileThreads = 256, kTileWarps = 8, kTileLines = kTile / 32;

template <class S>
struct TileMemory {
  float row[kTile][kTileLines];                  ///< amaxes of blocks along rows, then their factors
  Magnitudes<S> of_warp[kTileWarps][kTile / 2];  ///< of columns, two by two; of squares, in the first ones
  float column[kTileLines][kTile];               ///< factors of blocks along columns
  alignas(16) std::uint64_t turned[kTile][kTile / 8];
};

/// Where a thread stands.
struct TilePlace {
  long long tile_row, tile_column, row0, column0;  ///< the tile, and its first element
  int warp, lane, half, line;  ///< rows 16 warp + 8 half + [0, 8), columns 8 line + [0, 8)
  bool whole;                  ///< the tile is, and all accesses are aligned

  __device__ explicit TilePlace(const TileJob& job) {
    // Neighbours in a launch are neighbours along columns first in strips of 4 tiles: lines of both copies
    // are completed by tiles that run together.
    constexpr unsigned kStrip = 4;
    const auto columns = static_cast<unsigned>(job.tile_columns), rows = static_cast<unsigned>(job.tile_rows);
    const unsigned strip = blockIdx.x / (kStrip * columns), inside = blockIdx.x % (kStrip * columns);
    const unsigned height = min(kStrip, rows - strip * kStrip);
    tile_row = strip * kStrip + inside % height;
    tile_column = inside / height;
    row0 = tile_row * kTile;
    column0 = tile_column * kTile;
    warp = static_cast<int>(threadIdx.x / 32);
    lane = static_cast<int>(threadIdx.x % 32);
    half = lane / 16;
    line = lane % 16;
    whole = job.table.aligned && row0 + kTile <= job.rows && column0 + kTile <= job.columns;
  }
  __device__ int first_row() const { return 16 * warp + 8 * half; }
};

/// Elements outside the matrix are +0, which no maximum sees.
template <class S>
__device__ void load(const TileJob& job, const TilePlace& place, Lines<S>& lines) {
  const auto* const source = static_cast<const typename S::Stored*>(job.table.at[0][blockIdx.y]);
  const long long row = place.row0 + place.first_row(), column = place.column0 + 8 * place.line;
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

/// The largest magnitudes of 8 rows over kLanes neighbouring lanes. A lane is left with those of two rows,
/// 2q and 2q + 1; returns q.
template <class S, bool kPropagatesNan, int kLanes>
__device__ int largest_of_rows(const Lines<S>& lines, int lane, Magnitudes<S>& result) {
  using M = Magnitudes<S>;
  const auto larger = [](M a, M b) { return M::template larger<kPropagatesNan>(a, b); };
  M rows[4];
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    M two[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      two[i] = lines.magnitudes(2 * q + i, 0);
#pragma unroll
      for (int w = 1; w < Lines<S>::kPairs; ++w) two[i] = larger(two[i], lines.magnitudes(2 * q + i, w));
    }
    rows[q] = larger(M::firsts(two[0], two[1]), M::seconds(two[0], two[1]));
  }
  // A lane keeps half of what it has and gives the other half to its partner, twice.
  const bool upper = (lane & kLanes / 2) != 0, right = (lane & kLanes / 4) != 0;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const M kept = upper ? rows[i + 2] : rows[i], given = upper ? rows[i] : rows[i + 2];
    rows[i] = larger(kept, given.across(kLanes / 2));
  }
  const M kept = right ? rows[1] : rows[0], given = right ? rows[0] : rows[1];
  result = larger(kept, given.across(kLanes / 4));
#pragma unroll
  for (int lanes = kLanes / 8; lanes > 0; lanes /= 2) result = larger(result, result.across(lanes));
  return 2 * upper + right;
}

template <class S, TileScheme kScheme, bool kPropagatesNan>
__device__ void find_amaxes(const Lines<S>& lines, const TilePlace& place, TileMemory<S>& memory) {
  using M = Magnitudes<S>;
  const auto larger = [](M a, M b) { return M::template larger<kPropagatesNan>(a, b); };
  // From none, because a NaN that is dropped must meet a number.
  M columns[Lines<S>::kPairs];
#pragma unroll
  for (int w = 0; w < Lines<S>::kPairs; ++w) {
    columns[w] = M::none();
#pragma unroll
    for (int p = 0; p < kEdge; ++p) columns[w] = larger(columns[w], lines.magnitudes(p, w));
    columns[w] = larger(columns[w], columns[w].across(16));
  }
  if constexpr (kScheme == TileScheme::lines32 || kScheme == TileScheme::lines128) {
#pragma unroll
    for (int w = 0; w < Lines<S>::kPairs; ++w) {
      if (place.half == 0) memory.of_warp[place.warp][4 * place.line + w] = columns[w];
    }
    constexpr int kLanes = kScheme == TileScheme::lines32 ? 4 : 16;
    M rows;
    const int q = largest_of_rows<S, kPropagatesNan, kLanes>(lines, place.lane, rows);
    if (place.lane % (kLanes / 4) != 0) return;
    const int block = kLanes == 4 ? place.line / 4 : 0, row = place.first_row() + 2 * q;
    memory.row[row][block] = larger(rows, M::none()).first();
    memory.row[row + 1][block] = larger(rows, M::none()).second();
  } else {
    M all = larger(larger(columns[0], columns[1]), larger(columns[2], columns[3]));
    constexpr int kLanes = kScheme == TileScheme::square32 ? 4 : 16;
#pragma unroll
    for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) all = larger(all, all.across(lanes));
    if (place.half == 0 && place.line % kLanes == 0) memory.of_warp[place.warp][place.line / kLanes] = all;
  }
}

/// The larger of the two numbers of some warps' magnitudes, NaN included.
template <class S, bool kPropagatesNan>
__device__ Magnitudes<S> over_warps(const TileMemory<S>& memory, int first, int count, int at) {
  using M = Magnitudes<S>;
  M most = M::none();
  for (int w = first; w < first + count; ++w)
    most = M::template larger<kPropagatesNan>(most, memory.of_warp[w][at]);
  return most;
}

/// Four E8M0 codes at once where they are whole.
inline __device__ void store_codes(const PlaneShape& plane, void* stored, bool whole, long long row,
                                   long long column, const std::uint32_t (&codes)[4]) {
  if (stored == nullptr || row >= plane.grid_rows) return;
  auto* const to = static_cast<std::uint8_t*>(stored) + row * plane.stored_columns + column;
  if (whole) {
    *reinterpret_cast<std::uint32_t*>(to) = codes[0] | codes[1] << 8 | codes[2] << 16 | codes[3] << 24;
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (column + i < plane.grid_columns) to[i] = static_cast<std::uint8_t>(codes[i]);
  }
}

inline __device__ void store_one(const PlaneShape& plane, void* stored, long long row, long long column,
                                 std::uint32_t bits) {
  if (stored == nullptr || row >= plane.grid_rows || column >= plane.grid_columns) return;
  store_scale(plane, stored, place_of(plane, row, column), bits);
}

/// Half of the threads make the scales of rows, half those of columns: four each of 32, one each of 128.
template <class S, TileScheme kScheme, bool kPropagatesNan>
__device__ void make_scales(const TileJob& job, const TilePlace& place, TileMemory<S>& memory) {
  void* const row_stored = job.table.at[2][blockIdx.y];
  void* const column_stored = job.table.at[4][blockIdx.y];
  const int t = static_cast<int>(threadIdx.x), i = t % kTile;
  if constexpr (kScheme == TileScheme::lines128) {
    if (t < kTile) {
      const BlockScale scale = scale_of(job.rule, memory.row[i][0]);
      memory.row[i][0] = scale.factor;
      store_one(job.row_plane, row_stored, place.row0 + i, place.tile_column, scale.stored);
    } else {
      const Magnitudes<S> two = over_warps<S, kPropagatesNan>(memory, 0, kTileWarps, i / 2);
      const BlockScale scale = scale_of(job.rule, i % 2 == 0 ? two.first() : two.second());
      memory.column[0][i] = scale.factor;
      store_one(job.column_plane, column_stored, place.tile_row, place.column0 + i, scale.stored);
    }
  } else if constexpr (kScheme == TileScheme::lines32) {
    std::uint32_t codes[4];
    if (t < kTile) {
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        const BlockScale scale = scale_of(job.rule, memory.row[i][b]);
        memory.row[i][b] = scale.factor;
        codes[b] = scale.stored;
      }
      store_codes(job.row_plane, row_stored, place.whole, place.row0 + i, 4 * place.tile_column, codes);
    } else {
      const int block = i / 32, four = i % 32;
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const auto two = over_warps<S, kPropagatesNan>(memory, 2 * block, 2, 2 * four + pair);
        const BlockScale first = scale_of(job.rule, two.first()), second = scale_of(job.rule, two.second());
        memory.column[block][4 * four + 2 * pair] = first.factor;
        memory.column[block][4 * four + 2 * pair + 1] = second.factor;
        codes[2 * pair] = first.stored;
        codes[2 * pair + 1] = second.stored;
      }
      store_codes(job.column_plane, column_stored, place.whole, 4 * place.tile_row + block,
                  place.column0 + 4 * four, codes);
    }
  } else {
    constexpr bool kIsSmall = kScheme == TileScheme::square32;
    constexpr int kBlocks = kIsSmall ? 16 : 1, kWarps = kIsSmall ? 2 : kTileWarps;
    if (t >= kBlocks) return;
    const int row = t / 4, column = t % 4;
    const auto two = over_warps<S, kPropagatesNan>(memory, kWarps * row, kWarps, column);
    // The larger of the two numbers: first and second of one pair, compared as a pair with itself turned.
    const auto turned = Magnitudes<S>::firsts(two, two), other = Magnitudes<S>::seconds(two, two);
    const auto most = Magnitudes<S>::template larger<kPropagatesNan>(turned, other);
    const BlockScale scale = scale_of(job.rule, most.first());
    memory.column[row][column] = scale.factor;
    constexpr int kAcross = kIsSmall ? 4 : 1;
    const long long i_row = kAcross * place.tile_row + row, i_column = kAcross * place.tile_column + column;
    store_one(job.row_plane, row_stored, i_row, i_column, scale.stored);
    store_one(job.column_plane, column_stored, i_row, i_column, scale.stored);
  }
}

template <class S>
__device__ void take_given_factors(const TileJob& job, const TilePlace& place, TileMemory<S>& memory) {
  const float* const rows = job.row_factors + blockIdx.y * job.row_stride;
  const float* const columns = job.column_factors + blockIdx.y * job.column_stride;
  const int t = static_cast<int>(threadIdx.x), i = t % kTile;
  if (t < kTile) {
    const long long row = job.a_factor_a_line ? place.row0 + i : 0;
    if (row < job.rows && job.row_factors != nullptr) memory.row[i][0] = rows[row];
  } else {
    const long long column = job.a_factor_a_line ? place.column0 + i : 0;
    if (column < job.columns && job.column_factors != nullptr) memory.column[0][i] = columns[column];
  }
}

template <class S, TileScheme kScheme>
__device__ float row_factor(const TileMemory<S>& memory, const TilePlace& place, int p) {
  const int row = place.first_row() + p;
  switch (kScheme) {
    case TileScheme::lines32: return memory.row[row][place.line / 4];
    case TileScheme::square32: return memory.column[place.warp / 2][place.line / 4];
    case TileScheme::square128: return memory.column[0][0];
    default: return memory.row[row][0];
  }
}
template <class S, TileScheme kScheme>
__device__ float column_factor(const TileMemory<S>& memory, const TilePlace& place, int j) {
  switch (kScheme) {
    case TileScheme::lines32: return memory.column[place.warp / 2][8 * place.line + j];
    case TileScheme::square32: return memory.column[place.warp / 2][place.line / 4];
    case TileScheme::square128: return memory.column[0][0];
    default: return memory.column[0][8 * place.line + j];
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

/// Codes of row p, in the order of memory.
template <class S, class D, class Factor>
__device__ std::uint64_t codes_of_row(const Lines<S>& lines, int p, Factor factor) {
  std::uint32_t half[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int j = 4 * h;
    const std::uint32_t low =
        convert_pair<D>(__fmul_rn(lines.at(p, j), factor(j)), __fmul_rn(lines.at(p, j + 1), factor(j + 1)));
    const std::uint32_t high = convert_pair<D>(__fmul_rn(lines.at(p, j + 2), factor(j + 2)),
                                               __fmul_rn(lines.at(p, j + 3), factor(j + 3)));
    half[h] = __byte_perm(low, high, 0x5410);
  }
  return static_cast<std::uint64_t>(half[1]) << 32 | half[0];
}
template <class S, class D>
__device__ std::uint64_t codes_of_column(const Lines<S>& lines, int j, float factor) {
  std::uint32_t half[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int p = 4 * h;
    const std::uint32_t low =
        convert_pair<D>(__fmul_rn(lines.at(p, j), factor), __fmul_rn(lines.at(p + 1, j), factor));
    const std::uint32_t high =
        convert_pair<D>(__fmul_rn(lines.at(p + 2, j), factor), __fmul_rn(lines.at(p + 3, j), factor));
    half[h] = __byte_perm(low, high, 0x5410);
  }
  return static_cast<std::uint64_t>(half[1]) << 32 | half[0];
}

/// One copy that lies as the source does.
template <class S, class D, class Factor>
__device__ void write_in_place(const TileJob& job, const TilePlace& place, const Lines<S>& lines,
                               std::uint8_t* codes, Factor factor) {
#pragma unroll
  for (int p = 0; p < kEdge; ++p) {
    const long long row = place.row0 + place.first_row() + p;
    if (row >= job.rows) return;
    const std::uint64_t eight = codes_of_row<S, D>(lines, p, [&](int j) { return factor(p, j); });
    store_line(codes + row * job.columns, place.column0 + 8 * place.line, job.columns, place.whole, eight);
  }
}

/// A tile's columns become rows of `rows` codes.
template <class S>
__device__ void write_turned(const TileJob& job, const TilePlace& place, const TileMemory<S>& memory,
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
    if (place.whole) {
      *reinterpret_cast<ulonglong2*>(line + place.row0 + 8 * two) = units;
    } else {
      store_line(line, place.row0 + 8 * two, job.rows, false, units.x);
      store_line(line, place.row0 + 8 * two + 8, job.rows, false, units.y);
    }
  }
}

template <class S, class D, TileScheme kScheme>
__global__ void __launch_bounds__(kTileThreads, std::is_same_v<S, F32> ? 2 : 3)
    quantize_tiles(const __grid_constant__ TileJob job) {
  __shared__ TileMemory<S> memory;
  const TilePlace place(job);
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
  if (turns) {
#pragma unroll
    for (int j = 0; j < kEdge; ++j) {
      memory.turned[8 * place.line + j][(2 * place.warp + place.half) ^ place.line] =
          codes_of_column<S, D>(lines, j, column_factor<S, kScheme>(memory, place, j));
    }
  }
  if (row_codes != nullptr) {
    write_in_place<S, D>(job, place, lines, row_codes,
                         [&](int p, int) { return row_factor<S, kScheme>(memory, place, p); });
  }
  if (column_codes != nullptr && !turns) {
    write_in_place<S, D>(job, place, lines, column_codes,
                         [&](int, int j) { return column_factor<S, kScheme>(memory, place, j); });
  }
  if (!turns) return;
  __syncthreads();
  write_turned(job, place, memory, column_codes);
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
