// What a thread holds of a tile: 8 rows of 8 neighbours, packed as they lie in memory, and the largest
// magnitudes among them, two at a time. Next: quantize_tiles.cuh.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backends/cuda/element.cuh"

namespace shardcheck::gpu {

constexpr int kEdge = 8;  ///< rows, and elements of a row

/// Two magnitudes. Never a negative number; NaN as the caller asks.
template <class S>
struct Magnitudes {
  std::uint32_t both;  ///< the first in the low half

  static __device__ Magnitudes none() { return {0}; }
  static __device__ float value(std::uint32_t half) {
    if constexpr (std::is_same_v<S, Bf16>) return __uint_as_float(half << 16);
    return __half2float(__ushort_as_half(static_cast<std::uint16_t>(half)));
  }
  __device__ float first() const { return value(both & 0xFFFFu); }
  __device__ float second() const { return value(both >> 16); }
  __device__ Magnitudes across(int lanes) const { return {__shfl_xor_sync(~0u, both, lanes)}; }

  template <bool kPropagatesNan>
  static __device__ Magnitudes larger(Magnitudes a, Magnitudes b) {
    using Two = std::conditional_t<std::is_same_v<S, Bf16>, __nv_bfloat162, __half2>;
    Two x, y;
    memcpy(&x, &a.both, sizeof x);
    memcpy(&y, &b.both, sizeof y);
    const Two most = kPropagatesNan ? __hmax2_nan(x, y) : __hmax2(x, y);
    Magnitudes result;
    memcpy(&result.both, &most, sizeof most);
    return result;
  }
  static __device__ Magnitudes firsts(Magnitudes a, Magnitudes b) {
    return {__byte_perm(a.both, b.both, 0x5410)};
  }
  static __device__ Magnitudes seconds(Magnitudes a, Magnitudes b) {
    return {__byte_perm(a.both, b.both, 0x7632)};
  }
};

template <>
struct Magnitudes<F32> {
  float a, b;

  static __device__ Magnitudes none() { return {0, 0}; }
  __device__ float first() const { return a; }
  __device__ float second() const { return b; }
  __device__ Magnitudes across(int lanes) const {
    return {__shfl_xor_sync(~0u, a, lanes), __shfl_xor_sync(~0u, b, lanes)};
  }

  template <bool kPropagatesNan>
  static __device__ float larger(float x, float y) {
    if constexpr (!kPropagatesNan) return fmaxf(x, y);
    float most;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(x), "f"(y));
    return most;
  }
  template <bool kPropagatesNan>
  static __device__ Magnitudes larger(Magnitudes x, Magnitudes y) {
    return {larger<kPropagatesNan>(x.a, y.a), larger<kPropagatesNan>(x.b, y.b)};
  }
  static __device__ Magnitudes firsts(Magnitudes x, Magnitudes y) { return {x.a, y.a}; }
  static __device__ Magnitudes seconds(Magnitudes x, Magnitudes y) { return {x.b, y.b}; }
};

/// 8 x 8 elements of a 16-bit type.
template <class S>
struct Lines {
  static constexpr int kPairs = kEdge / 2;
  std::uint32_t word[kEdge][kPairs];

  __device__ void load(int row, const typename S::Stored* from) {
    const uint4 four = *reinterpret_cast<const uint4*>(from);
    word[row][0] = four.x;
    word[row][1] = four.y;
    word[row][2] = four.z;
    word[row][3] = four.w;
  }
  __device__ void put(int row, int j, typename S::Stored code) {
    const std::uint32_t wide = code;
    word[row][j / 2] = j % 2 == 0 ? wide : word[row][j / 2] | wide << 16;
  }
  __device__ float at(int row, int j) const {
    const std::uint32_t both = word[row][j / 2];
    if constexpr (std::is_same_v<S, Bf16>)
      return __uint_as_float(j % 2 == 0 ? both << 16 : both & 0xFFFF0000u);
    return Magnitudes<S>::value(j % 2 == 0 ? both & 0xFFFFu : both >> 16);
  }
  __device__ Magnitudes<S> magnitudes(int row, int pair) const { return {word[row][pair] & 0x7FFF7FFFu}; }
};

template <>
struct Lines<F32> {
  static constexpr int kPairs = kEdge / 2;
  float value[kEdge][kEdge];

  __device__ void load(int row, const std::uint32_t* from) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float4 four = reinterpret_cast<const float4*>(from)[half];
      value[row][4 * half] = four.x;
      value[row][4 * half + 1] = four.y;
      value[row][4 * half + 2] = four.z;
      value[row][4 * half + 3] = four.w;
    }
  }
  __device__ void put(int row, int j, std::uint32_t code) {
    value[row][j] = __uint_as_float(code);
  }
  __device__ float at(int row, int j) const {
    return value[row][j];
  }
  __device__ Magnitudes<F32> magnitudes(int row, int pair) const {
    return {fabsf(value[row][2 * pair]), fabsf(value[row][2 * pair + 1])};
  }
};

}  // namespace shardcheck::gpu
