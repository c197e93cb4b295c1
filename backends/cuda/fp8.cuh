// FP8 as kernels see it: the conversion instructions, and what policies change at the edges. There is one
// rounding rule in the world, so a policy that the hardware lacks differs from it for NaN, infinity and
// overflow only: those codes are looked up. Next: casts.cuh, which loops over them; sweep_rules.cuh, the rule
// that they are compared with on all inputs.
#pragma once

#include <cuda_fp8.h>

#include <cstdint>

#include "backends/cuda/element.cuh"
#include "backends/cuda/fp8_edges.h"

namespace shardcheck::gpu {

struct E4m3 {
  using Stored = std::uint8_t;
  static constexpr int kFractionBits = 3, kExponentBits = 4, kBias = 7;
  static constexpr std::uint32_t kLargest = 0x7E;
  static constexpr std::uint32_t kOverflowsFrom = 0x43E80001u;  ///< above 464, which ties to 448 (fp8 2.2)
  static constexpr __nv_fp8_interpretation_t kInterpretation = __NV_E4M3;
};
struct E5m2 {
  using Stored = std::uint8_t;
  static constexpr int kFractionBits = 2, kExponentBits = 5, kBias = 15;
  static constexpr std::uint32_t kLargest = 0x7B;
  static constexpr std::uint32_t kOverflowsFrom = 0x47700000u;  ///< 61440, a tie
  static constexpr __nv_fp8_interpretation_t kInterpretation = __NV_E5M2;
};
template <class E>
inline constexpr bool kIsFp8 = std::is_same_v<E, E4m3> || std::is_same_v<E, E5m2>;

/// Two neighbours by one instruction, saturating; `first` lands in the low byte, which comes first in memory.
template <class F>
__device__ std::uint16_t convert_pair(float first, float second) {
  return __nv_cvt_float2_to_fp8x2(float2{first, second}, __NV_SATFINITE, F::kInterpretation);
}

/// `code` as the hardware made it of `value`, with the policy's codes at the edges.
template <class F>
__device__ std::uint8_t with_edges(std::uint8_t code, float value, const Fp8Edges& edges) {
  const std::uint32_t bits = __float_as_uint(value), magnitude = bits & 0x7FFFFFFFu;
  if (magnitude < F::kOverflowsFrom) return code;
  const std::uint32_t negative = bits >> 31;
  if (magnitude > 0x7F800000u) return edges.nan[negative];
  return magnitude == 0x7F800000u ? edges.infinity[negative] : edges.overflow[negative];
}

/// The values of two codes, exact: every FP8 number is an fp16 number. A NaN is the canonical one.
template <class F>
__device__ float2 values_of_pair(std::uint16_t codes) {
  const __half2_raw halves = __nv_cvt_fp8x2_to_halfraw2(codes, F::kInterpretation);
  return float2{__half2float(__half(__half_raw{halves.x})), __half2float(__half(__half_raw{halves.y}))};
}

}  // namespace shardcheck::gpu
