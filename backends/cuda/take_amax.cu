// Amaxes of blocks over any piece of a matrix: one block for all; blocks that neighbouring lanes share;
// blocks of one column, which a thread walks down; and whatever is left, such as pieces that begin inside a
// block. Magnitudes without NaN are ordered as their bits.
#include <algorithm>

#include "backends/cuda/block_cursor.cuh"
#include "backends/cuda/block_ops.h"
#include "backends/cuda/block_scale.cuh"
#include "backends/cuda/casts.cuh"
#include "backends/cuda/check.h"
#include "backends/cuda/with_element.cuh"

namespace shardcheck::gpu {

constexpr int kAmaxThreads = 256;
constexpr int kNothing = -1;        ///< below every magnitude: nothing was seen
constexpr int kRowsOfAThread = 64;  ///< of a column

/// The magnitude's bits; a NaN is above infinity, or nothing when it is dropped.
inline __device__ int seen(float value, recipe::AmaxNan nan) {
  const auto magnitude = static_cast<int>(magnitude_of(value));
  if (magnitude <= static_cast<int>(kInfinityBits)) return magnitude;
  return nan == recipe::AmaxNan::propagate ? static_cast<int>(kNanBits) : kNothing;
}

inline __device__ bool is_nan_code(int code) {
  return (static_cast<std::uint32_t>(code) & 0x7FFFFFFFu) > kInfinityBits;
}

/// *amax, which held `before` a while ago, := the larger of it and of `bits`. It only rises, so that what is
/// no larger need not be told; and nobody waits for the answer, but where NaN are dropped and one stands
/// there, which gives way.
inline __device__ void raise(float* amax, int before, int bits, recipe::AmaxNan nan) {
  if (bits == kNothing) return;
  auto* const place = reinterpret_cast<int*>(amax);
  if (nan == recipe::AmaxNan::drop) {
    while (is_nan_code(before)) {
      const int found = atomicCAS(place, before, bits);
      if (found == before) return;
      before = found;
    }
  }
  if (bits > before) atomicMax(place, bits);
}
inline __device__ int standing(const float* amax) {
  return __ldcg(reinterpret_cast<const int*>(amax));
}
inline __device__ void raise(float* amax, int bits, recipe::AmaxNan nan) {
  raise(amax, standing(amax), bits, nan);
}

template <class S, int kCount>
__device__ int seen_in(const Wide<typename S::Stored, kCount>& pack, recipe::AmaxNan nan) {
  int most = kNothing;
#pragma unroll
  for (int i = 0; i < kCount; ++i) most = max(most, seen(S::widen(pack.value[i]), nan));
  return most;
}

/// A pack that a block's end cuts, element by element.
template <class S, int kCount>
__device__ void raise_each(float* amaxes, BlockCursor cursor, const BlockGrid& grid,
                           const Wide<typename S::Stored, kCount>& pack, recipe::AmaxNan nan) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    raise(amaxes + cursor.block(grid), seen(S::widen(pack.value[i]), nan), nan);
    if (i + 1 < kCount) cursor.advance(grid);
  }
}

/// Any blocks, element by element or pack by pack.
template <class S>
__global__ void __launch_bounds__(kAmaxThreads)
    amax_of_blocks(const __grid_constant__ OperandTable table, const __grid_constant__ BlockGrid grid,
                   const recipe::AmaxNan nan, const long long start) {
  constexpr int kCount = 16 / static_cast<int>(sizeof(typename S::Stored));
  using Pack = Wide<typename S::Stored, kCount>;
  const long long numel = table.numel[blockIdx.y];
  const auto* const from = static_cast<const typename S::Stored*>(table.at[0][blockIdx.y]);
  auto* const amaxes = static_cast<float*>(table.at[1][blockIdx.y]);
  const long long packs = table.aligned ? numel / kCount : 0;
  const long long thread = static_cast<long long>(blockIdx.x) * kAmaxThreads + threadIdx.x;
  const long long threads = static_cast<long long>(gridDim.x) * kAmaxThreads;
  for (long long p = thread; p < packs; p += threads) {
    const Pack pack = reinterpret_cast<const Pack*>(from)[p];
    const BlockCursor cursor(grid, start + p * kCount);
    if (cursor.left >= kCount) {
      raise(amaxes + cursor.block(grid), seen_in<S, kCount>(pack, nan), nan);
    } else {
      raise_each<S, kCount>(amaxes, cursor, grid, pack, nan);
    }
  }
  for (long long i = packs * kCount + thread; i < numel; i += threads) {
    raise(amaxes + BlockCursor(grid, start + i).block(grid), seen(S::widen(from[i]), nan), nan);
  }
}

/// A piece that begins and ends with a block, in rows that are whole blocks: kLanes neighbouring lanes have a
/// block, or a part of it, together. Packs of several turns are read before the first is used.
template <class S, int kLanes>
__global__ void __launch_bounds__(kAmaxThreads)
    amax_of_lanes(const __grid_constant__ OperandTable table, const __grid_constant__ BlockGrid grid,
                  const recipe::AmaxNan nan, const long long start) {
  constexpr int kCount = 16 / static_cast<int>(sizeof(typename S::Stored)), kPacks = 4;
  using Pack = Wide<typename S::Stored, kCount>;
  const long long packs = table.numel[blockIdx.y] / kCount;
  const auto* const from = static_cast<const Pack*>(table.at[0][blockIdx.y]);
  auto* const amaxes = static_cast<float*>(table.at[1][blockIdx.y]);
  const long long first = static_cast<long long>(blockIdx.x) * kAmaxThreads * kPacks + threadIdx.x;
  Pack pack[kPacks];
#pragma unroll
  for (int n = 0; n < kPacks; ++n) {
    const long long p = first + n * kAmaxThreads;
    if (p < packs) pack[n] = from[p];
  }
#pragma unroll
  for (int n = 0; n < kPacks; ++n) {
    const long long p = first + n * kAmaxThreads;
    int most = p < packs ? seen_in<S, kCount>(pack[n], nan) : kNothing;
#pragma unroll
    for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) most = max(most, __shfl_xor_sync(~0u, most, lanes));
    if (p < packs && threadIdx.x % kLanes == 0) {
      raise(amaxes + BlockCursor(grid, start + p * kCount).block(grid), most, nan);
    }
  }
}

/// One block for all.
template <class S>
__global__ void __launch_bounds__(kAmaxThreads)
    amax_of_all(const __grid_constant__ OperandTable table, const recipe::AmaxNan nan) {
  constexpr int kCount = 16 / static_cast<int>(sizeof(typename S::Stored)), kPacks = 4;
  using Pack = Wide<typename S::Stored, kCount>;
  __shared__ int of_warp[kAmaxThreads / 32];
  const long long numel = table.numel[blockIdx.y];
  const auto* const from = static_cast<const typename S::Stored*>(table.at[0][blockIdx.y]);
  const long long packs = table.aligned ? numel / kCount : 0;
  const long long thread = static_cast<long long>(blockIdx.x) * kAmaxThreads + threadIdx.x;
  const long long threads = static_cast<long long>(gridDim.x) * kAmaxThreads;
  int most = kNothing;
  for (long long first = thread; first < packs; first += threads * kPacks) {
    Pack pack[kPacks];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const long long at = min(first + p * threads, packs - 1);  // one twice changes no maximum
      pack[p] = reinterpret_cast<const Pack*>(from)[at];
    }
#pragma unroll
    for (int p = 0; p < kPacks; ++p) most = max(most, seen_in<S, kCount>(pack[p], nan));
  }
  for (long long i = packs * kCount + thread; i < numel; i += threads) {
    most = max(most, seen(S::widen(from[i]), nan));
  }
  most = __reduce_max_sync(~0u, most);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int other : of_warp) most = max(most, other);
  raise(static_cast<float*>(table.at[1][blockIdx.y]), most, nan);
}

/// Blocks of one column: a thread walks down kColumns of them side by side, which lie as a pack. grid.z:
/// which kRowsOfAThread rows of a block.
template <class S, int kColumns>
__global__ void __launch_bounds__(kAmaxThreads)
    amax_of_columns(const __grid_constant__ OperandTable table, const __grid_constant__ BlockGrid grid,
                    const recipe::AmaxNan nan, const long long start, const int pieces) {
  using Pack = Wide<typename S::Stored, kColumns>;
  const long long numel = table.numel[blockIdx.y];
  const auto* const from = static_cast<const typename S::Stored*>(table.at[0][blockIdx.y]);
  auto* const amaxes = static_cast<float*>(table.at[1][blockIdx.y]);
  const long long column = (static_cast<long long>(blockIdx.x) * kAmaxThreads + threadIdx.x) * kColumns;
  if (column >= grid.columns) return;
  for (long long z = blockIdx.z; z < grid.grid_rows * pieces; z += gridDim.z) {
    const long long block_row = z / pieces;
    const long long first = block_row * grid.height + z % pieces * kRowsOfAThread;
    const long long end = min(min(first + kRowsOfAThread, (block_row + 1) * grid.height), grid.rows);
    int most[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) most[c] = kNothing;
#pragma unroll 8
    for (long long row = first; row < end; ++row) {
      const long long i = row * grid.columns + column - start;
      if (i >= 0 && i + kColumns <= numel) {
        const Pack pack = *reinterpret_cast<const Pack*>(from + i);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) most[c] = max(most[c], seen(S::widen(pack.value[c]), nan));
      } else {
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          if (i + c >= 0 && i + c < numel) most[c] = max(most[c], seen(S::widen(from[i + c]), nan));
        }
      }
    }
    float* const of_row = amaxes + block_row * grid.grid_columns + column;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) raise(of_row + c, most[c], nan);
  }
}

namespace {

unsigned blocks_for(long long work, long long most) {
  const long long blocks = (work + kAmaxThreads - 1) / kAmaxThreads;
  return static_cast<unsigned>(std::clamp(blocks, 1LL, most));
}

}  // namespace

void launch_take_amax(const OperandTable& table, DType source, const CopyShape& shape, long long start,
                      cudaStream_t stream) {
  const long long numel = *std::max_element(table.numel, table.numel + table.ranks);
  if (numel == 0) return;
  const BlockGrid& grid = shape.grid;
  const recipe::AmaxNan nan = shape.rule.amax_nan;
  const auto ranks = static_cast<unsigned>(table.ranks);
  with_element(source, [&](auto s) {
    using S = decltype(s);
    constexpr long long kCount = 16 / sizeof(typename S::Stored);
    const long long packs = table.aligned ? (numel + kCount - 1) / kCount : numel;
    if (grid.grid_rows * grid.grid_columns == 1) {
      constexpr long long kMostBlocks = 132 * 8;  // of an H200 at once: each raises the amax once
      amax_of_all<S><<<dim3(blocks_for(packs, kMostBlocks), ranks), kAmaxThreads, 0, stream>>>(table, nan);
    } else if (grid.width == 1) {
      const auto pieces = static_cast<int>((grid.height + kRowsOfAThread - 1) / kRowsOfAThread);
      const auto turns = static_cast<unsigned>(std::min(grid.grid_rows * pieces, 65535LL));
      const auto launch = [&](auto kernel, long long columns) {
        const dim3 blocks(blocks_for((grid.columns + columns - 1) / columns, 1LL << 30), ranks, turns);
        kernel<<<blocks, kAmaxThreads, 0, stream>>>(table, grid, nan, start, pieces);
      };
      constexpr int kColumns = 4;
      const bool is_packed = table.aligned && grid.columns % kColumns == 0 && start % kColumns == 0;
      is_packed ? launch(amax_of_columns<S, kColumns>, kColumns) : launch(amax_of_columns<S, 1>, 1);
    } else {
      const bool is_whole = table.aligned && grid.width % kCount == 0 && grid.columns % grid.width == 0 &&
                            start % grid.width == 0 &&
                            std::all_of(table.numel, table.numel + table.ranks,
                                        [&](long long n) { return n % grid.width == 0; });
      const auto by_lanes = [&](auto kernel) {
        const dim3 blocks(blocks_for((packs + 3) / 4, 1LL << 30), ranks);
        kernel<<<blocks, kAmaxThreads, 0, stream>>>(table, grid, nan, start);
      };
      const long long lanes = grid.width / kCount;
      if (is_whole && lanes % 32 == 0) {
        by_lanes(amax_of_lanes<S, 32>);
      } else if (is_whole && lanes % 16 == 0) {
        by_lanes(amax_of_lanes<S, 16>);
      } else if (is_whole && lanes % 4 == 0) {
        by_lanes(amax_of_lanes<S, 4>);
      } else {
        amax_of_blocks<S>
            <<<dim3(blocks_for(packs, 1LL << 20), ranks), kAmaxThreads, 0, stream>>>(table, grid, nan, start);
      }
    }
  });
  check(cudaGetLastError(), "launch of amaxes");
}

}  // namespace shardcheck::gpu
