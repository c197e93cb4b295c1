// Amaxes of blocks over any piece of a matrix, three ways: one block for all, blocks that neighbours share,
// and blocks of one column, which a thread walks down. Magnitudes without NaN are ordered as their bits.
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

/// *amax := the larger of it and of `bits`. A NaN that stands there gives way where NaN are dropped.
inline __device__ void raise(float* amax, int bits, recipe::AmaxNan nan) {
  if (bits == kNothing) return;
  auto* const place = reinterpret_cast<int*>(amax);
  int old = atomicMax(place, bits);
  if (nan == recipe::AmaxNan::propagate) return;
  const auto is_nan = [](int code) {
    return (static_cast<std::uint32_t>(code) & 0x7FFFFFFFu) > kInfinityBits;
  };
  while (is_nan(old)) {
    const int before = atomicCAS(place, old, bits);
    if (before == old) return;
    old = is_nan(before) ? before : atomicMax(place, bits);
  }
}

template <class S, int kCount>
__device__ int seen_in(const Wide<typename S::Stored, kCount>& pack, recipe::AmaxNan nan) {
  int most = kNothing;
#pragma unroll
  for (int i = 0; i < kCount; ++i) most = max(most, seen(S::widen(pack.value[i]), nan));
  return most;
}

/// Any blocks: lanes whose packs lie in one block agree before one of them raises it.
template <class S>
__global__ void __launch_bounds__(kAmaxThreads)
    amax_of_blocks(const __grid_constant__ OperandTable table, const BlockGrid grid,
                   const recipe::AmaxNan nan, const long long start) {
  constexpr int kCount = 16 / static_cast<int>(sizeof(typename S::Stored));
  using Pack = Wide<typename S::Stored, kCount>;
  const long long numel = table.numel[blockIdx.y];
  const auto* const from = static_cast<const typename S::Stored*>(table.at[0][blockIdx.y]);
  auto* const amaxes = static_cast<float*>(table.at[1][blockIdx.y]);
  const long long packs = table.aligned ? numel / kCount : 0;
  const long long thread = static_cast<long long>(blockIdx.x) * kAmaxThreads + threadIdx.x;
  const long long threads = static_cast<long long>(gridDim.x) * kAmaxThreads;
  for (long long base = thread - threadIdx.x % 32; base < packs; base += threads) {
    const long long p = base + threadIdx.x % 32;
    long long block = -1 - static_cast<long long>(threadIdx.x % 32);  // a block of its own for nothing
    int most = kNothing;
    if (p < packs) {
      const Pack pack = reinterpret_cast<const Pack*>(from)[p];
      BlockCursor cursor(grid, start + p * kCount);
      if (cursor.left >= kCount) {
        block = cursor.block(grid);
        most = seen_in<S, kCount>(pack, nan);
      } else {
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          raise(amaxes + cursor.block(grid), seen(S::widen(pack.value[i]), nan), nan);
          if (i + 1 < kCount) cursor.advance(grid);
        }
      }
    }
    const unsigned together = __match_any_sync(~0u, block);
    most = __reduce_max_sync(together, most);
    if (block >= 0 && static_cast<int>(threadIdx.x % 32) == __ffs(static_cast<int>(together)) - 1) {
      raise(amaxes + block, most, nan);
    }
  }
  for (long long i = packs * kCount + thread; i < numel; i += threads) {
    raise(amaxes + BlockCursor(grid, start + i).block(grid), seen(S::widen(from[i]), nan), nan);
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

/// Blocks of one column: a thread walks down. grid.z: which kRowsOfAThread rows of a block.
template <class S>
__global__ void __launch_bounds__(kAmaxThreads)
    amax_of_columns(const __grid_constant__ OperandTable table, const BlockGrid grid,
                    const recipe::AmaxNan nan, const long long start, const int pieces) {
  const long long numel = table.numel[blockIdx.y];
  const auto* const from = static_cast<const typename S::Stored*>(table.at[0][blockIdx.y]);
  const long long column = static_cast<long long>(blockIdx.x) * kAmaxThreads + threadIdx.x;
  if (column >= grid.columns) return;
  for (long long z = blockIdx.z; z < grid.grid_rows * pieces; z += gridDim.z) {
    const long long block_row = z / pieces;
    const long long first = block_row * grid.height + z % pieces * kRowsOfAThread;
    const long long end = min(min(first + kRowsOfAThread, (block_row + 1) * grid.height), grid.rows);
    int most = kNothing;
#pragma unroll 8
    for (long long row = first; row < end; ++row) {
      const long long i = row * grid.columns + column - start;
      if (i >= 0 && i < numel) most = max(most, seen(S::widen(from[i]), nan));
    }
    raise(static_cast<float*>(table.at[1][blockIdx.y]) + block_row * grid.grid_columns + column, most, nan);
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
      amax_of_columns<S>
          <<<dim3(blocks_for(grid.columns, 1LL << 30), ranks, turns), kAmaxThreads, 0, stream>>>(
              table, grid, nan, start, pieces);
    } else {
      amax_of_blocks<S>
          <<<dim3(blocks_for(packs, 1LL << 20), ranks), kAmaxThreads, 0, stream>>>(table, grid, nan, start);
    }
  });
  check(cudaGetLastError(), "launch of amaxes");
}

}  // namespace shardcheck::gpu
