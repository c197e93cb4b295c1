// Scales as kernels make them: each function gives the bits of its namesake in core/recipe/scales.cpp, but
// that every NaN is the canonical one. Compiled for the host, too, where it is compared with the reference on
// random amaxes. Next: block_ops.cu and quantize_tiles.cuh, which call scale_of().
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backends/cuda/block_shapes.h"

namespace shardcheck::gpu {

/// What one block is quantised by.
struct BlockScale {
  std::uint32_t stored;  ///< bits of the stored scale: fp32, or an E8M0 code
  float factor;          ///< what an element meets
};

constexpr std::uint32_t kNanBits = 0x7FC00000u, kInfinityBits = 0x7F800000u;

inline __device__ std::uint32_t magnitude_of(float value) {
  return __float_as_uint(value) & 0x7FFFFFFFu;
}
inline __device__ float with_canonical_nan(float value) {
  return value != value ? __uint_as_float(kNanBits) : value;
}
inline __device__ float without_mantissa(float value) {
  return __uint_as_float(__float_as_uint(value) & 0xFF800000u);
}

/// 2^(code - 127); NaN for 255.
inline __device__ float value_of_e8m0(std::uint32_t code) {
  if (code == 255) return __uint_as_float(kNanBits);
  return __uint_as_float(code == 0 ? 0x00400000u : code << 23);
}

/// encode_e8m0() upwards; `too_large` stands for infinity and what lies above 2^127.
inline __device__ std::uint32_t e8m0_up(float value, std::uint32_t too_large) {
  const std::uint32_t magnitude = magnitude_of(value);
  if (magnitude > kInfinityBits) return 255;
  if (magnitude == kInfinityBits) return too_large;
  const std::uint32_t exponent = magnitude >> 23, mantissa = magnitude & 0x7FFFFFu;
  // Code 0 means 2^-127, which is the subnormal 0x00400000.
  if (mantissa <= (exponent == 0 ? 0x400000u : 0u)) return exponent;
  return exponent == 254 ? too_large : exponent + 1;
}

/// floor(log2) of a positive double that is no subnormal, such as any fp32 number.
inline __device__ int exponent_of(double value) {
  return static_cast<int>(__double_as_longlong(value) >> 52 & 0x7FF) - 1023;
}

/// floor(log2 amax) - emax as a code, after `amax` became a double.
inline __device__ std::uint32_t exponent_code(const ScaleRule& rule, int exponent) {
  return static_cast<std::uint32_t>(min(max(exponent - rule.largest_power + 127, 0), 254));
}

inline __device__ std::uint32_t power_of_two_code(const ScaleRule& rule, float amax) {
  using recipe::ScaleFormula;
  if (rule.formula == ScaleFormula::ratio_up_reciprocal) {
    return e8m0_up(__fmul_rn(amax, __fdiv_rn(1.0f, rule.largest)), 254);
  }
  if (rule.formula == ScaleFormula::ratio_up) return e8m0_up(__fdiv_rn(amax, rule.largest), 255);
  if (magnitude_of(amax) >= kInfinityBits) return 255;
  if (amax == 0) return 0;
  const double wide = amax;
  const int exponent = exponent_of(wide);
  const double power = __longlong_as_double(static_cast<long long>(exponent + 1023) << 52);
  if (rule.formula == ScaleFormula::exponent_up) return exponent_code(rule, exponent + (power < wide));
  if (rule.formula == ScaleFormula::exponent_down) return exponent_code(rule, exponent);
  // Half of the last kept place carries into the exponent exactly when the mantissa rounds up to 2.
  const double half =
      __longlong_as_double(static_cast<long long>(exponent - rule.mantissa_bits - 1 + 1023) << 52);
  return exponent_code(rule, exponent_of(__dadd_rn(wide, half)));
}

/// The stored scale is the factor's rounded reciprocal.
inline __device__ BlockScale from_factor(float factor) {
  return {__float_as_uint(with_canonical_nan(__fdiv_rn(1.0f, factor))), with_canonical_nan(factor)};
}

inline __device__ BlockScale quotient(const ScaleRule& rule, float amax) {
  const auto epsilon = static_cast<float>(rule.epsilon);
  const float raised = amax < epsilon ? epsilon : amax;
  if (magnitude_of(raised) >= kInfinityBits || raised == 0) return from_factor(1.0f);
  float scale = __fdiv_rn(rule.largest, raised);
  if (magnitude_of(scale) == kInfinityBits) scale = __uint_as_float(rule.value_for_infinity);
  return from_factor(rule.power_of_two == recipe::PowerOfTwo::down ? without_mantissa(scale) : scale);
}

inline __device__ BlockScale quotient_f64(const ScaleRule& rule, float amax) {
  const double wide = amax;
  const double clamped = wide < rule.epsilon ? rule.epsilon : wide;
  const float factor = __double2float_rn(__ddiv_rn(static_cast<double>(rule.largest), clamped));
  const bool cuts = rule.power_of_two == recipe::PowerOfTwo::down && magnitude_of(factor) < kInfinityBits;
  return from_factor(cuts ? without_mantissa(factor) : factor);
}

/// The inverse is made and stored, the factor is its rounded reciprocal.
inline __device__ BlockScale inverse_quotient(const ScaleRule& rule, float amax) {
  const auto epsilon = static_cast<float>(rule.epsilon);
  float inverse = __fdiv_rn(amax < epsilon ? epsilon : amax, rule.largest);
  if (rule.power_of_two == recipe::PowerOfTwo::up && inverse == inverse) {
    inverse = value_of_e8m0(max(e8m0_up(inverse, 254), 1u));
  }
  inverse = with_canonical_nan(inverse);
  return {__float_as_uint(inverse), with_canonical_nan(__fdiv_rn(1.0f, inverse))};
}

/// The scale of a block. `given` has a scale of 1 here: the op that has another is Quantize.
inline __device__ BlockScale scale_of(const ScaleRule& rule, float amax) {
  using recipe::ScaleFormula;
  BlockScale scale{};
  float inverse = 0;
  if (rule.formula >= ScaleFormula::ratio_up_reciprocal) {
    const std::uint32_t code = power_of_two_code(rule, amax);
    inverse = value_of_e8m0(code);
    scale = {code, code == 255 ? inverse : value_of_e8m0(254 - code)};
  } else {
    switch (rule.formula) {
      case ScaleFormula::quotient: scale = quotient(rule, amax); break;
      case ScaleFormula::quotient_f64: scale = quotient_f64(rule, amax); break;
      case ScaleFormula::inverse_quotient: scale = inverse_quotient(rule, amax); break;
      default: scale = from_factor(1.0f); break;
    }
    inverse = __uint_as_float(scale.stored);
  }
  if (rule.use == recipe::ScaleUse::divide) scale.factor = inverse;
  return scale;
}

/// An element and what it meets; NaN by class only, which is all that a cast looks at.
inline __device__ float scaled(float value, float factor, recipe::ScaleUse use) {
  return use == recipe::ScaleUse::divide ? __fdiv_rn(value, factor) : __fmul_rn(value, factor);
}

/// Element of the plane that holds the scale of block (row, column).
inline __device__ long long place_of(const PlaneShape& plane, long long row, long long column) {
  return plane.transposed ? column * plane.stored_columns + row : row * plane.stored_columns + column;
}
inline __device__ void store_scale(const PlaneShape& plane, void* stored, long long place,
                                   std::uint32_t bits) {
  if (plane.are_codes) {
    static_cast<std::uint8_t*>(stored)[place] = static_cast<std::uint8_t>(bits);
  } else {
    static_cast<std::uint32_t*>(stored)[place] = bits;
  }
}
inline __device__ float stored_scale(const PlaneShape& plane, const void* stored, long long place) {
  if (plane.are_codes) return value_of_e8m0(static_cast<const std::uint8_t*>(stored)[place]);
  return static_cast<const float*>(stored)[place];
}

}  // namespace shardcheck::gpu
