#include <algorithm>

#include "backends/cuda/block_cursor.cuh"
#include "backends/cuda/block_ops.h"
#include "backends/cuda/block_scale.cuh"
#include "backends/cuda/casts.cuh"
#include "backends/cuda/check.h"
#include "backends/cuda/with_element.cuh"
#include "backends/cuda/with_fp8.cuh"

namespace shardcheck::gpu {

constexpr int kBlockThreads = 256;

/// Elements of a pack, and packs that a thread has in flight.
template <class S>
struct PackOf {
  static constexpr int kCount = 16 / static_cast<int>(sizeof(typename S::Stored));
  static constexpr int kPacks = 4;
};

/// Calls one(first element, values) for the packs of a rank's piece, then single(element) for the rest. The
/// packs that a thread has in flight are read before the first is used.
template <class S, int kCount, int kPacks, class One, class Rest>
__device__ void for_packs(const OperandTable& table, One one, Rest rest) {
  using From = Wide<typename S::Stored, kCount>;
  const long long numel = table.numel[blockIdx.y];
  const auto* const from = static_cast<const typename S::Stored*>(table.at[0][blockIdx.y]);
  const long long packs = table.aligned ? numel / kCount : 0;
  const long long stride = static_cast<long long>(gridDim.x) * kBlockThreads * kPacks;
  for (long long first = static_cast<long long>(blockIdx.x) * kBlockThreads * kPacks + threadIdx.x;
       first < packs; first += stride) {
    From source[kPacks];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const long long at = first + p * kBlockThreads;
      if (at < packs) source[p] = reinterpret_cast<const From*>(from)[at];
    }
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const long long at = first + p * kBlockThreads;
      if (at < packs) one(at * kCount, source[p]);
    }
  }
  for (long long i = packs * kCount + static_cast<long long>(blockIdx.x) * kBlockThreads + threadIdx.x;
       i < numel; i += static_cast<long long>(gridDim.x) * kBlockThreads) {
    rest(i, from[i]);
  }
}

// ---- Codes from numbers.

template <class S, class D>
__global__ void __launch_bounds__(kBlockThreads)
    quantize_blocks(const __grid_constant__ OperandTable table, const BlockGrid grid,
                    const recipe::ScaleUse use, const long long start) {
  constexpr int kCount = 16;
  using To = Wide<typename D::Stored, kCount>;
  const auto* const factors = static_cast<const float*>(table.at[1][blockIdx.y]);
  auto* const codes = static_cast<typename D::Stored*>(table.at[2][blockIdx.y]);
  for_packs<S, kCount, 1>(
      table,
      [&](long long first, const Wide<typename S::Stored, kCount>& source) {
        float values[kCount];
        widen<S, false, kCount>(source, values);
        BlockCursor cursor(grid, start + first);
        if (cursor.left >= kCount) {
          const float factor = factors[cursor.block(grid)];
#pragma unroll
          for (int i = 0; i < kCount; ++i) values[i] = scaled(values[i], factor, use);
        } else {
#pragma unroll
          for (int i = 0; i < kCount; ++i) {
            values[i] = scaled(values[i], factors[cursor.block(grid)], use);
            if (i + 1 < kCount) cursor.advance(grid);
          }
        }
        To result;
        narrow<D, false, kCount>(values, result, Fp8Edges{});
        *reinterpret_cast<To*>(codes + first) = result;
      },
      [&](long long i, typename S::Stored source) {
        const float factor = factors[BlockCursor(grid, start + i).block(grid)];
        codes[i] = static_cast<std::uint8_t>(convert_pair<D>(scaled(S::widen(source), factor, use), 0.0f));
      });
}

// ---- Numbers from codes.

template <class S, class D>
__global__ void __launch_bounds__(kBlockThreads)
    dequantize_blocks(const __grid_constant__ OperandTable table, const BlockGrid grid,
                      const PlaneShape plane, const long long start) {
  constexpr int kCount = PackOf<D>::kCount;
  using To = Wide<typename D::Stored, kCount>;
  const void* const stored = table.at[1][blockIdx.y];
  auto* const to = static_cast<typename D::Stored*>(table.at[2][blockIdx.y]);
  const auto scale_at = [&](const BlockCursor& cursor) {
    return stored_scale(plane, stored, place_of(plane, cursor.block_row, cursor.block_column));
  };
  for_packs<S, kCount, PackOf<D>::kPacks>(
      table,
      [&](long long first, const Wide<std::uint8_t, kCount>& source) {
        float values[kCount];
        widen<S, false, kCount>(source, values);
        BlockCursor cursor(grid, start + first);
        if (cursor.left >= kCount) {
          const float scale = scale_at(cursor);
#pragma unroll
          for (int i = 0; i < kCount; ++i) values[i] = __fmul_rn(values[i], scale);
        } else {
#pragma unroll
          for (int i = 0; i < kCount; ++i) {
            values[i] = __fmul_rn(values[i], scale_at(cursor));
            if (i + 1 < kCount) cursor.advance(grid);
          }
        }
        To result;
        narrow<D, false, kCount>(values, result, Fp8Edges{});
        *reinterpret_cast<To*>(to + first) = result;
      },
      [&](long long i, std::uint8_t source) {
        const float value = values_of_pair<S>(source).x;
        const float product = __fmul_rn(value, scale_at(BlockCursor(grid, start + i)));
        to[i] = D::narrow(with_canonical_nan(product));
      });
}

// ---- Scales from amaxes.

__global__ void __launch_bounds__(kBlockThreads)
    scale_from_amax(const __grid_constant__ OperandTable table, const CopyShape shape) {
  const PlaneShape& plane = shape.plane;
  const auto* const amaxes = static_cast<const float*>(table.at[0][blockIdx.y]);
  auto* const factors = static_cast<float*>(table.at[1][blockIdx.y]);
  void* const stored = table.at[2][blockIdx.y];
  const long long places = plane.stored_rows * plane.stored_columns;
  for (long long place = static_cast<long long>(blockIdx.x) * kBlockThreads + threadIdx.x; place < places;
       place += static_cast<long long>(gridDim.x) * kBlockThreads) {
    const long long row = quotient_of(place, plane.stored_columns);
    const long long column = place - row * plane.stored_columns;
    const long long i = plane.transposed ? column : row, j = plane.transposed ? row : column;
    if (i >= plane.grid_rows || j >= plane.grid_columns) {
      store_scale(plane, stored, place, 0);
      continue;
    }
    const long long block = i * plane.grid_columns + j;
    const BlockScale scale = scale_of(shape.rule, amaxes[block]);
    factors[block] = scale.factor;
    store_scale(plane, stored, place, scale.stored);
  }
}

// ---- Delayed scaling.

/// One thread block a rank.
__global__ void __launch_bounds__(kBlockThreads)
    close_delayed_step(const __grid_constant__ OperandTable table, const DelayedRule rule) {
  __shared__ float largest[kBlockThreads];
  const float amax = *static_cast<const float*>(table.at[0][blockIdx.y]);
  auto* const history = static_cast<float*>(table.at[1][blockIdx.y]);
  auto* const state = static_cast<float*>(table.at[2][blockIdx.y]);
  const long long slots = table.numel[blockIdx.y];
  const auto thread = static_cast<int>(threadIdx.x);
  if (amax == 0 && !rule.rolls_on_zero) {
    if (thread == 0) history[0] = amax;
    return;
  }
  float most = 0;
  for (long long i = thread; i < slots; i += kBlockThreads) most = fmaxf(most, i == 0 ? amax : history[i]);
  largest[thread] = most;
  for (int half = kBlockThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) largest[thread] = fmaxf(largest[thread], largest[thread + half]);
  }
  __syncthreads();
  // Slot i becomes what slot i + 1 was; the last gets this step's amax and slot 0 opens the next.
  for (long long base = 0; base < slots; base += kBlockThreads) {
    const long long i = base + thread;
    const float next = i + 1 < slots ? history[i + 1] : amax;
    __syncthreads();
    if (i < slots) history[i] = i == 0 ? 0.0f : next;
    __syncthreads();
  }
  if (thread != 0) return;
  const float chosen = rule.most_recent ? amax : largest[0];
  if (!(chosen > 0) || magnitude_of(chosen) >= kInfinityBits) return;
  const float scale = fminf(__fdiv_rn(rule.target, chosen), __uint_as_float(0x7F7FFFFFu));
  state[0] = scale;
  state[1] = __fdiv_rn(1.0f, scale);
}

namespace {

long long longest(const OperandTable& table) {
  return *std::max_element(table.numel, table.numel + table.ranks);
}

dim3 grid_for(long long work, const OperandTable& table) {
  return {blocks_of_convert(std::max(work, 1LL), 1), static_cast<unsigned>(table.ranks)};
}

}  // namespace

void launch_quantize_blocks(const OperandTable& table, Types types, const CopyShape& shape, long long start,
                            cudaStream_t stream) {
  const long long numel = longest(table);
  if (numel == 0) return;
  const dim3 grid = grid_for(table.aligned ? (numel + 15) / 16 : numel, table);
  with_element(types.source, [&](auto s) {
    with_fp8(types.destination, [&](auto d) {
      quantize_blocks<decltype(s), decltype(d)>
          <<<grid, kBlockThreads, 0, stream>>>(table, shape.grid, shape.rule.use, start);
    });
  });
  check(cudaGetLastError(), "launch of a quantisation by blocks");
}

void launch_dequantize_blocks(const OperandTable& table, Types types, const CopyShape& shape, long long start,
                              cudaStream_t stream) {
  const long long numel = longest(table);
  if (numel == 0) return;
  with_fp8(types.source, [&](auto s) {
    with_element(types.destination, [&](auto d) {
      using Packs = PackOf<decltype(d)>;
      constexpr long long kAThread = Packs::kCount * Packs::kPacks;
      const dim3 grid = grid_for(table.aligned ? (numel + kAThread - 1) / kAThread : numel, table);
      dequantize_blocks<decltype(s), decltype(d)>
          <<<grid, kBlockThreads, 0, stream>>>(table, shape.grid, shape.plane, start);
    });
  });
  check(cudaGetLastError(), "launch of a dequantisation by blocks");
}

void launch_scale_from_amax(const OperandTable& table, const CopyShape& shape, cudaStream_t stream) {
  const long long places = shape.plane.stored_rows * shape.plane.stored_columns;
  if (places == 0) return;
  scale_from_amax<<<grid_for(places, table), kBlockThreads, 0, stream>>>(table, shape);
  check(cudaGetLastError(), "launch of scales from amaxes");
}

void launch_close_delayed_step(const OperandTable& table, const DelayedRule& rule, cudaStream_t stream) {
  close_delayed_step<<<dim3(1, static_cast<unsigned>(table.ranks)), kBlockThreads, 0, stream>>>(table, rule);
  check(cudaGetLastError(), "launch of the end of a step of delayed scaling");
}

}  // namespace shardcheck::gpu
