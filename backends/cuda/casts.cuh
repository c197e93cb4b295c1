// The loop of conversions with FP8 on one side: packs of elements, several in flight a thread. Next:
// casts.cu, which picks the types and how wide a pack is.
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

/// The value of an FP8 code whose sign survives where it is NaN, for policies that keep it.
template <class S>
__device__ float with_nan_sign(float value, std::uint8_t code) {
  if (value == value) return value;
  return __uint_as_float(0x7FC00000u | static_cast<std::uint32_t>(code & 0x80u) << 24);
}

/// Two neighbouring codes in one register, the first in the low byte, as they lie in memory: taking them
/// apart byte by byte cost more instructions than the conversions.
template <int kCount>
__device__ std::uint16_t pair_at(const Wide<std::uint8_t, kCount>& from, int i) {
  std::uint16_t codes;
  memcpy(&codes, from.value + i, sizeof codes);
  return codes;
}
template <int kCount>
__device__ void put_pair(Wide<std::uint8_t, kCount>& to, int i, std::uint16_t codes) {
  memcpy(to.value + i, &codes, sizeof codes);
}

template <class S, bool kKeepsNanSign, int kCount>
__device__ void widen(const Wide<typename S::Stored, kCount>& from, float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    if constexpr (kIsFp8<S>) {
      const float2 pair = values_of_pair<S>(pair_at(from, i));
      values[i] = kKeepsNanSign ? with_nan_sign<S>(pair.x, from.value[i]) : pair.x;
      values[i + 1] = kKeepsNanSign ? with_nan_sign<S>(pair.y, from.value[i + 1]) : pair.y;
    } else if constexpr (std::is_same_v<S, F16> && !kKeepsNanSign) {
      values[i] = __half2float(__ushort_as_half(from.value[i]));  // one NaN is as good as another
      values[i + 1] = __half2float(__ushort_as_half(from.value[i + 1]));
    } else {
      values[i] = S::widen(from.value[i]);
      values[i + 1] = S::widen(from.value[i + 1]);
    }
  }
}

/// Rounded once to D. A NaN becomes the policy's code in FP8 and the canonical one elsewhere.
template <class D, bool kLooksUpEdges, int kCount>
__device__ void narrow(const float (&values)[kCount], Wide<typename D::Stored, kCount>& to,
                       const Fp8Edges& edges) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    if constexpr (kIsFp8<D>) {
      put_pair(to, i, convert_pair<D>(values[i], values[i + 1]));
      if constexpr (kLooksUpEdges) {
        to.value[i] = with_edges<D>(to.value[i], values[i], edges);
        to.value[i + 1] = with_edges<D>(to.value[i + 1], values[i + 1], edges);
      }
    } else {
#pragma unroll
      for (int j = i; j < i + 2; ++j) {
        to.value[j] = D::narrow(values[j] != values[j] ? __uint_as_float(0x7FC00000u) : values[j]);
      }
    }
  }
}

/// Two neighbours of a type that fits fp16 as a pair of fp16 numbers: exact, or NaN.
template <class S, int kCount>
__device__ __half2_raw halves_at(const Wide<typename S::Stored, kCount>& from, int i) {
  if constexpr (kIsFp8<S>) {
    return __nv_cvt_fp8x2_to_halfraw2(pair_at(from, i), S::kInterpretation);
  } else {
    static_assert(std::is_same_v<S, F16>);
    return __half2_raw{from.value[i], from.value[i + 1]};
  }
}

/// The codes of a pack whose numbers are fp16 numbers already: the conversion from fp16 rounds by the same
/// rule, and without the way through fp32 a pair costs half the conversions, which bounded these casts.
template <class S, class D, int kCount>
__device__ void convert_halves(const Wide<typename S::Stored, kCount>& from,
                               Wide<typename D::Stored, kCount>& to) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    put_pair(to, i, __nv_cvt_halfraw2_to_fp8x2(halves_at<S>(from, i), __NV_SATFINITE, D::kInterpretation));
  }
}

/// With the policy's codes at the edges. The policy looks at NaN, so the product's is the reference's.
template <class S, class D, int kCount>
__device__ void convert_with_edges(const Wide<typename S::Stored, kCount>& from,
                                   Wide<typename D::Stored, kCount>& to, const float* scale,
                                   const Fp8Edges& edges) {
  float values[kCount];
  widen<S, true, kCount>(from, values);
  if (scale != nullptr) {
    const float factor = *scale;
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = multiply_rn(values[i], factor);
  }
  narrow<D, true, kCount>(values, to, edges);
}

/// All NaN become one, but where the policy looks at the edges and some number lies there.
template <class S, class D, bool kLooksUpEdges, int kCount>
__device__ void convert_pack(const Wide<typename S::Stored, kCount>& from,
                             Wide<typename D::Stored, kCount>& to, const float* scale,
                             const Fp8Edges& edges) {
  if constexpr (kIsFp8<D> && !kLooksUpEdges && (kIsFp8<S> || std::is_same_v<S, F16>)) {
    if (scale == nullptr) return convert_halves<S, D, kCount>(from, to);
  }
  float values[kCount];
  widen<S, false, kCount>(from, values);
  if (scale != nullptr) {
    const float factor = *scale;
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = __fmul_rn(values[i], factor);
  }
  narrow<D, false, kCount>(values, to, edges);
  if constexpr (kLooksUpEdges) {
    std::uint32_t largest = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) largest = max(largest, __float_as_uint(values[i]) & 0x7FFFFFFFu);
    if (largest >= D::kOverflowsFrom) convert_with_edges<S, D, kCount>(from, to, scale, edges);
  }
}

/// Four fp32 numbers go past the caches' working set: measured 1 to 2 % faster, where 16-bit results are as
/// much slower so.
template <class D, class To>
__device__ void store(To* to, const To& value) {
  if constexpr (std::is_same_v<D, F32> && sizeof(To) == 16) {
    __stcs(reinterpret_cast<uint4*>(to), reinterpret_cast<const uint4&>(value));
  } else {
    *to = value;
  }
}

/// grid.y: the rank. kPacks packs of kCount elements a thread and turn; what is left over element by element.
template <class S, class D, bool kLooksUpEdges, int kCount, int kPacks>
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
      convert_pack<S, D, kLooksUpEdges, kCount>(source[p], result, scale, table.edges);
      if (at < packs) store<D>(reinterpret_cast<To*>(to) + at, result);
    }
  }
  const long long thread = static_cast<long long>(blockIdx.x) * kConvertThreads + threadIdx.x;
  for (long long i = packs * kCount + thread; i < numel;
       i += static_cast<long long>(gridDim.x) * kConvertThreads) {
    Wide<typename S::Stored, 2> source{{from[i], from[i]}};
    Wide<typename D::Stored, 2> result;
    convert_pack<S, D, kLooksUpEdges, 2>(source, result, scale, table.edges);
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
