// The loop of conversions with FP8 on one side: packs of sixteen elements, several in flight a thread, so
// that the accesses on both sides are 16 bytes wide. Next: casts.cu, which picks the types.
#pragma once

#include "backends/cuda/casts.h"
#include "backends/cuda/fp8.cuh"

namespace shardcheck::gpu {

constexpr int kConvertThreads = 256;

/// kCount elements as they lie in memory, read and written 16 bytes at a time where they are that many.
template <class T, int kCount>
struct alignas(kCount * sizeof(T) < 16 ? kCount * sizeof(T) : 16) Wide {
  T value[kCount];
};

template <class S, int kCount>
__device__ void widen(const Wide<typename S::Stored, kCount>& from, float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    if constexpr (kIsFp8<S>) {
      const auto codes = static_cast<std::uint16_t>(from.value[i] | from.value[i + 1] << 8);
      const float2 pair = values_of_pair<S>(codes);
      values[i] = pair.x;
      values[i + 1] = pair.y;
    } else {
      values[i] = S::widen(from.value[i]);
      values[i + 1] = S::widen(from.value[i + 1]);
    }
  }
}

/// Rounded once to D. A NaN becomes the policy's code in FP8 and the canonical one elsewhere.
template <class D, int kCount>
__device__ void narrow(const float (&values)[kCount], Wide<typename D::Stored, kCount>& to,
                       const Fp8Edges& edges) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    if constexpr (kIsFp8<D>) {
      const std::uint16_t codes = convert_pair<D>(values[i], values[i + 1]);
      to.value[i] = static_cast<std::uint8_t>(codes & 0xFFu);
      to.value[i + 1] = static_cast<std::uint8_t>(codes >> 8);
      if (!edges.are_hardware) {
        to.value[i] = with_edges<D>(to.value[i], values[i], edges);
        to.value[i + 1] = with_edges<D>(to.value[i + 1], values[i + 1], edges);
      }
    } else {
      for (int j = i; j < i + 2; ++j) {
        to.value[j] = D::narrow(values[j] != values[j] ? __uint_as_float(0x7FC00000u) : values[j]);
      }
    }
  }
}

template <class S, class D, int kCount>
__device__ void convert_pack(const Wide<typename S::Stored, kCount>& from,
                             Wide<typename D::Stored, kCount>& to, const float* scale,
                             const Fp8Edges& edges) {
  float values[kCount];
  widen<S, kCount>(from, values);
  if (scale != nullptr) {
    const float factor = *scale;
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = multiply_rn(values[i], factor);
  }
  narrow<D, kCount>(values, to, edges);
}

/// grid.y: the rank. kPacks packs of kCount elements a thread and turn; what is left over element by element.
template <class S, class D, int kCount, int kPacks>
__global__ void __launch_bounds__(kConvertThreads) convert(const __grid_constant__ ConvertTable table) {
  using From = Wide<typename S::Stored, kCount>;
  using To = Wide<typename D::Stored, kCount>;
  const long long numel = table.ranks.numel[blockIdx.y];
  const auto* const from = static_cast<const typename S::Stored*>(table.ranks.source[blockIdx.y]);
  auto* const to = static_cast<typename D::Stored*>(table.ranks.destination[blockIdx.y]);
  const float* const scale = table.scale[blockIdx.y];
  const long long packs = table.ranks.aligned ? numel / kCount : 0;
  const long long stride = static_cast<long long>(gridDim.x) * kConvertThreads * kPacks;

  for (long long first = static_cast<long long>(blockIdx.x) * kConvertThreads * kPacks + threadIdx.x;
       first < packs; first += stride) {
    From source[kPacks];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const long long at = first + p * kConvertThreads;
      if (at < packs) source[p] = reinterpret_cast<const From*>(from)[at];
    }
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const long long at = first + p * kConvertThreads;
      To result;
      convert_pack<S, D, kCount>(source[p], result, scale, table.edges);
      if (at < packs) reinterpret_cast<To*>(to)[at] = result;
    }
  }
  const long long thread = static_cast<long long>(blockIdx.x) * kConvertThreads + threadIdx.x;
  for (long long i = packs * kCount + thread; i < numel;
       i += static_cast<long long>(gridDim.x) * kConvertThreads) {
    Wide<typename S::Stored, 2> source{{from[i], from[i]}};
    Wide<typename D::Stored, 2> result;
    convert_pack<S, D, 2>(source, result, scale, table.edges);
    to[i] = result.value[0];
  }
}

/// Blocks of a launch over `numel` elements of the longest rank.
inline unsigned blocks_of_convert(long long numel, int elements_a_thread) {
  constexpr long long kMostBlocks = 1LL << 20;
  const long long wanted =
      (numel + kConvertThreads * elements_a_thread - 1) / (kConvertThreads * elements_a_thread);
  return static_cast<unsigned>(wanted < kMostBlocks ? wanted : kMostBlocks);
}

}  // namespace shardcheck::gpu
