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

/// work.place(first element) and then work.pack(first element, values, place) for the packs of a rank's
/// piece, work.single(element, value) for the rest. What a thread has in flight is read, places included,
/// before the first is used.
template <class S, int kCount, int kPacks, class Work>
__device__ void for_packs(const OperandTable& table, const Work& work) {
  using From = Wide<typename S::Stored, kCount>;
  const long long numel = table.numel[blockIdx.y];
  const auto* const from = static_cast<const typename S::Stored*>(table.at[0][blockIdx.y]);
  const long long packs = table.aligned ? numel / kCount : 0;
  const long long stride = static_cast<long long>(gridDim.x) * kBlockThreads * kPacks;
  for (long long first = static_cast<long long>(blockIdx.x) * kBlockThreads * kPacks + threadIdx.x;
       first < packs; first += stride) {
    From source[kPacks];
    decltype(work.place(0)) place[kPacks];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const long long at = min(first + p * kBlockThreads, packs - 1);
      source[p] = reinterpret_cast<const From*>(from)[at];
      place[p] = work.place(at * kCount);
    }
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const long long at = first + p * kBlockThreads;
      if (at < packs) work.pack(at * kCount, source[p], place[p]);
    }
  }
  for (long long i = packs * kCount + static_cast<long long>(blockIdx.x) * kBlockThreads + threadIdx.x;
       i < numel; i += static_cast<long long>(gridDim.x) * kBlockThreads) {
    work.single(i, from[i]);
  }
}

/// What the elements of a pack meet: one number, or it must be asked for each.
struct PackPlace {
  float common;
  bool is_common;
};
template <int kCount, class NumberAt>
__device__ PackPlace place_of_pack(const BlockCursor& cursor, NumberAt number_at) {
  const bool is_common = cursor.left >= kCount;
  return {is_common ? number_at(cursor) : 0.0f, is_common};
}

/// Neighbouring numbers in memory, 16 bytes at a time where that can be.
template <int kCount>
__device__ void load_line(const float* from, float (&numbers)[kCount]) {
  if (reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const float4 four = __ldg(reinterpret_cast<const float4*>(from + i));
      numbers[i] = four.x;
      numbers[i + 1] = four.y;
      numbers[i + 2] = four.z;
      numbers[i + 3] = four.w;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) numbers[i] = __ldg(from + i);
}
/// The same for E8M0 codes, four at a time.
template <int kCount>
__device__ void load_line(const std::uint8_t* from, float (&numbers)[kCount]) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(from) % 4 == 0;
#pragma unroll
  for (int i = 0; i < kCount; i += 4) {
    std::uint32_t four = 0;
    if (is_aligned) {
      four = __ldg(reinterpret_cast<const std::uint32_t*>(from + i));
    } else {
      for (int j = 0; j < 4; ++j) four |= static_cast<std::uint32_t>(from[i + j]) << 8 * j;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) numbers[i + j] = value_of_e8m0(four >> 8 * j & 0xFFu);
  }
}

/// numbers[i] := what the i-th element from `element` on meets. Blocks of one column have theirs side by
/// side: then `line` loads them from the first block's on.
template <int kCount, class NumberAt, class Line>
__device__ void numbers_of(const BlockGrid& grid, long long element, float (&numbers)[kCount],
                           NumberAt number_at, Line line) {
  BlockCursor cursor(grid, element);
  if (grid.width == 1 && cursor.column + kCount <= grid.columns && line(cursor, numbers)) return;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    numbers[i] = number_at(cursor);
    if (i + 1 < kCount) cursor.advance(grid);
  }
}

// ---- Codes from numbers.

template <class S, class D>
struct QuantizeWork {
  static constexpr int kCount = 16, kPacks = 1;
  const BlockGrid& grid;
  recipe::ScaleUse use;
  long long start;
  const float* __restrict__ factors;
  std::uint8_t* __restrict__ codes;

  __device__ float factor_at(const BlockCursor& cursor) const { return __ldg(factors + cursor.block(grid)); }
  __device__ PackPlace place(long long first) const {
    return place_of_pack<kCount>(BlockCursor(grid, start + first),
                                 [&](const BlockCursor& cursor) { return factor_at(cursor); });
  }
  __device__ void pack(long long first, const Wide<typename S::Stored, kCount>& source,
                       const PackPlace& place) const {
    float values[kCount];
    widen<S, false, kCount>(source, values);
    if (place.is_common) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) values[i] = scaled(values[i], place.common, use);
    } else {
      float numbers[kCount];
      numbers_of(
          grid, start + first, numbers, [&](const BlockCursor& cursor) { return factor_at(cursor); },
          [&](const BlockCursor& cursor, float(&line)[kCount]) {
            load_line(factors + cursor.block(grid), line);
            return true;
          });
#pragma unroll
      for (int i = 0; i < kCount; ++i) values[i] = scaled(values[i], numbers[i], use);
    }
    Wide<std::uint8_t, kCount> result;
    narrow<D, false, kCount>(values, result, Fp8Edges{});
    *reinterpret_cast<Wide<std::uint8_t, kCount>*>(codes + first) = result;
  }
  __device__ void single(long long i, typename S::Stored source) const {
    const float value = scaled(S::widen(source), factor_at(BlockCursor(grid, start + i)), use);
    codes[i] = static_cast<std::uint8_t>(convert_pair<D>(value, 0.0f));
  }
};

template <class S, class D>
__global__ void __launch_bounds__(kBlockThreads)
    quantize_blocks(const __grid_constant__ OperandTable table, const __grid_constant__ BlockGrid grid,
                    const recipe::ScaleUse use, const long long start) {
  using Work = QuantizeWork<S, D>;
  for_packs<S, Work::kCount, Work::kPacks>(
      table, Work{grid, use, start, static_cast<const float*>(table.at[1][blockIdx.y]),
                  static_cast<std::uint8_t*>(table.at[2][blockIdx.y])});
}

// ---- Numbers from codes.

template <class S, class D>
struct DequantizeWork {
  static constexpr int kCount = PackOf<D>::kCount, kPacks = PackOf<D>::kPacks;
  const BlockGrid& grid;
  const PlaneShape& plane;
  long long start;
  const void* __restrict__ stored;
  typename D::Stored* __restrict__ to;

  __device__ float scale_at(const BlockCursor& cursor) const {
    return stored_scale(plane, stored, place_of(plane, cursor.block_row, cursor.block_column));
  }
  /// Scales of neighbouring columns, unless the plane is transposed.
  __device__ bool load_scales(const BlockCursor& cursor, float (&line)[kCount]) const {
    if (plane.transposed) return false;
    const long long place = place_of(plane, cursor.block_row, cursor.block_column);
    if (plane.are_codes) {
      load_line(static_cast<const std::uint8_t*>(stored) + place, line);
    } else {
      load_line(static_cast<const float*>(stored) + place, line);
    }
    return true;
  }
  __device__ PackPlace place(long long first) const {
    return place_of_pack<kCount>(BlockCursor(grid, start + first),
                                 [&](const BlockCursor& cursor) { return scale_at(cursor); });
  }
  __device__ void pack(long long first, const Wide<std::uint8_t, kCount>& source,
                       const PackPlace& place) const {
    float values[kCount];
    widen<S, false, kCount>(source, values);
    if (place.is_common) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) values[i] = __fmul_rn(values[i], place.common);
    } else {
      float numbers[kCount];
      numbers_of(
          grid, start + first, numbers, [&](const BlockCursor& cursor) { return scale_at(cursor); },
          [&](const BlockCursor& cursor, float(&line)[kCount]) { return load_scales(cursor, line); });
#pragma unroll
      for (int i = 0; i < kCount; ++i) values[i] = __fmul_rn(values[i], numbers[i]);
    }
    Wide<typename D::Stored, kCount> result;
    narrow<D, false, kCount>(values, result, Fp8Edges{});
    *reinterpret_cast<Wide<typename D::Stored, kCount>*>(to + first) = result;
  }
  __device__ void single(long long i, std::uint8_t source) const {
    const float product = __fmul_rn(values_of_pair<S>(source).x, scale_at(BlockCursor(grid, start + i)));
    to[i] = D::narrow(with_canonical_nan(product));
  }
};

template <class S, class D>
__global__ void __launch_bounds__(kBlockThreads)
    dequantize_blocks(const __grid_constant__ OperandTable table, const __grid_constant__ BlockGrid grid,
                      const __grid_constant__ PlaneShape plane, const long long start) {
  using Work = DequantizeWork<S, D>;
  for_packs<S, Work::kCount, Work::kPacks>(table,
                                           Work{grid, plane, start, table.at[1][blockIdx.y],
                                                static_cast<typename D::Stored*>(table.at[2][blockIdx.y])});
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
    const long long row = place / plane.stored_columns;
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
