// From the elements of a tile to the scales of its blocks, in two phases with a barrier between them: largest
// magnitudes, by shuffles within a warp and by shared memory between warps; then scales, made and stored by
// as many threads as can share the work. Next: quantize_tiles.cuh.
#pragma once

#include "backends/cuda/block_scale.cuh"
#include "backends/cuda/tile_place.cuh"

namespace shardcheck::gpu {

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
__device__ void find_amaxes(const Lines<S>& lines, const TilePlace<kScheme>& place, TileMemory<S>& memory) {
  using M = Magnitudes<S>;
  const auto larger = [](M a, M b) { return M::template larger<kPropagatesNan>(a, b); };
  const int warp = static_cast<int>(threadIdx.x / 32);
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
      if (place.half == 0) memory.of_warp[warp][4 * place.line + w] = columns[w];
    }
    constexpr int kLanes = kScheme == TileScheme::lines32 ? 4 : 16;
    M rows;
    const int q = largest_of_rows<S, kPropagatesNan, kLanes>(lines, place.lane, rows);
    if (place.lane % (kLanes / 4) != 0) return;
    constexpr int kBlocks = kLanes == 4 ? TilePlace<kScheme>::kBlocks : 1;
    float* const amaxes =
        memory.row + (place.first_row() + 2 * q) * kBlocks + (kLanes == 4 ? place.block() : 0);
    amaxes[0] = larger(rows, M::none()).first();
    amaxes[kBlocks] = larger(rows, M::none()).second();
  } else {
    M all = larger(larger(columns[0], columns[1]), larger(columns[2], columns[3]));
    constexpr int kLanes = kScheme == TileScheme::square32 ? 4 : 16;
#pragma unroll
    for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) all = larger(all, all.across(lanes));
    if (place.half == 0 && place.line % kLanes == 0) memory.of_warp[warp][place.line / kLanes] = all;
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

/// Four E8M0 codes, at once where all exist.
inline __device__ void store_codes(const PlaneShape& plane, void* stored, bool aligned, long long row,
                                   long long column, const std::uint32_t (&codes)[4]) {
  if (stored == nullptr || row >= plane.grid_rows) return;
  auto* const to = static_cast<std::uint8_t*>(stored) + row * plane.stored_columns + column;
  if (aligned && column + 4 <= plane.grid_columns) {
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

/// Half of the threads make the scales of rows, half those of columns, one each.
template <class S, bool kPropagatesNan, TileScheme kScheme>
__device__ void make_scales_of_128(const TileJob& job, const TilePlace<kScheme>& place,
                                   TileMemory<S>& memory) {
  const int t = static_cast<int>(threadIdx.x), i = t % kTile;
  if (t < kTile) {
    const BlockScale scale = scale_of(job.rule, memory.row[i]);
    memory.row[i] = scale.factor;
    store_one(job.row_plane, job.table.at[2][blockIdx.y], place.row0 + i, place.tile_column, scale.stored);
  } else {
    const Magnitudes<S> two = over_warps<S, kPropagatesNan>(memory, 0, kTileWarps, i / 2);
    const BlockScale scale = scale_of(job.rule, i % 2 == 0 ? two.first() : two.second());
    memory.column[0][i] = scale.factor;
    store_one(job.column_plane, job.table.at[4][blockIdx.y], place.tile_row, place.column0 + i, scale.stored);
  }
}

/// The same, four neighbours each.
template <class S, bool kPropagatesNan, TileScheme kScheme>
__device__ void make_scales_of_32(const TileJob& job, const TilePlace<kScheme>& place,
                                  TileMemory<S>& memory) {
  const int t = static_cast<int>(threadIdx.x), i = t % kTile;
  std::uint32_t codes[4];
  if (t < kTile) {
    float* const amaxes = memory.row + 4 * i;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      const BlockScale scale = scale_of(job.rule, amaxes[b]);
      amaxes[b] = scale.factor;
      codes[b] = scale.stored;
    }
    constexpr int kFours = TilePlace<kScheme>::kBlocks / 4;  // of a row
    store_codes(job.row_plane, job.table.at[2][blockIdx.y], job.table.aligned, place.row0 + i / kFours,
                place.tile_column * TilePlace<kScheme>::kBlocks + i % kFours * 4, codes);
  } else {
    const int warp_column = i / 32, four = i % 32;
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const auto two = over_warps<S, kPropagatesNan>(memory, 2 * warp_column, 2, 2 * four + pair);
      const BlockScale first = scale_of(job.rule, two.first()), second = scale_of(job.rule, two.second());
      memory.column[warp_column][4 * four + 2 * pair] = first.factor;
      memory.column[warp_column][4 * four + 2 * pair + 1] = second.factor;
      codes[2 * pair] = first.stored;
      codes[2 * pair + 1] = second.stored;
    }
    store_codes(job.column_plane, job.table.at[4][blockIdx.y], job.table.aligned, place.tile_row,
                place.column0 + 4 * i, codes);
  }
}

/// One scale a square.
template <class S, bool kPropagatesNan, TileScheme kScheme>
__device__ void make_scales_of_squares(const TileJob& job, const TilePlace<kScheme>& place,
                                       TileMemory<S>& memory) {
  constexpr bool kIsSmall = kScheme == TileScheme::square32;
  constexpr int kSquares = kIsSmall ? TilePlace<kScheme>::kBlocks : 1;
  const int t = static_cast<int>(threadIdx.x);
  if (t >= kSquares) return;
  const int warp_column = t / 4, square = t % 4;
  const auto two = over_warps<S, kPropagatesNan>(memory, TilePlace<kScheme>::kDown * warp_column,
                                                 TilePlace<kScheme>::kDown, square);
  const auto first = Magnitudes<S>::firsts(two, two), second = Magnitudes<S>::seconds(two, two);
  const auto most = Magnitudes<S>::template larger<kPropagatesNan>(first, second);
  const BlockScale scale = scale_of(job.rule, most.first());
  memory.column[warp_column][square] = scale.factor;
  const long long column = place.tile_column * kSquares + t;
  store_one(job.row_plane, job.table.at[2][blockIdx.y], place.tile_row, column, scale.stored);
  store_one(job.column_plane, job.table.at[4][blockIdx.y], place.tile_row, column, scale.stored);
}

template <class S, TileScheme kScheme, bool kPropagatesNan>
__device__ void make_scales(const TileJob& job, const TilePlace<kScheme>& place, TileMemory<S>& memory) {
  if constexpr (kScheme == TileScheme::lines128) {
    make_scales_of_128<S, kPropagatesNan>(job, place, memory);
  } else if constexpr (kScheme == TileScheme::lines32) {
    make_scales_of_32<S, kPropagatesNan>(job, place, memory);
  } else {
    make_scales_of_squares<S, kPropagatesNan>(job, place, memory);
  }
}

template <class S, TileScheme kScheme>
__device__ void take_given_factors(const TileJob& job, const TilePlace<kScheme>& place,
                                   TileMemory<S>& memory) {
  const float* const rows = job.row_factors + blockIdx.y * job.row_stride;
  const float* const columns = job.column_factors + blockIdx.y * job.column_stride;
  const int t = static_cast<int>(threadIdx.x), i = t % kTile;
  if (t < kTile) {
    const long long row = job.a_factor_a_line ? place.row0 + i : 0;
    if (row < job.rows && job.row_factors != nullptr) memory.row[i] = rows[row];
  } else {
    const long long column = job.a_factor_a_line ? place.column0 + i : 0;
    if (column < job.columns && job.column_factors != nullptr) memory.column[0][i] = columns[column];
  }
}

}  // namespace shardcheck::gpu
