// The float types that elementwise ops compute with: how each widens to fp32, which is exact, and narrows
// from it, which is one rounding to nearest even (core/numerics/narrow.h), and how to round once from more
// than fp32. Next: cpu/rounded.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/assert.h"
#include "core/numerics/narrow.h"
#include "core/tensor/dtype.h"

namespace shardcheck::cpu {

struct F32 {
  using Stored = float;
  static constexpr int kSignificantBits = 24;
  static float widen(float value) { return value; }
  static float narrow(float value) { return value; }
};

struct Bf16 {
  using Stored = std::uint16_t;
  static constexpr int kSignificantBits = 8;
  static constexpr int kSmallestExponent = -133;  ///< of the smallest subnormal
  static float widen(std::uint16_t code) { return bf16_to_f32(code); }
  static std::uint16_t narrow(float value) { return f32_to_bf16(value); }
};

struct F16 {
  using Stored = std::uint16_t;
  static constexpr int kSignificantBits = 11;
  static constexpr int kSmallestExponent = -24;
  static float widen(std::uint16_t code) { return f16_to_f32(code); }
  static std::uint16_t narrow(float value) { return f32_to_f16(value); }
};

/// A 16-bit type rounds apart from fp32; in fp32 every operation is one rounding already.
template <class E>
concept Narrow = (E::kSignificantBits < 24);

/// `visit(F32{})`, `visit(Bf16{})` or `visit(F16{})`: dispatch once an operand, not once an element.
template <class Visit>
void with_element(DType type, Visit visit) {
  switch (type) {
    case DType::f32: return visit(F32{});
    case DType::bf16: return visit(Bf16{});
    case DType::f16: return visit(F16{});
    default: SC_ASSERT(false, "no arithmetic is defined on one-byte elements");
  }
}

/// `nearest`, which is some exact number rounded to fp32, moved to the neighbour with an odd last bit where
/// it is inexact and even. Rounding to odd keeps the information that something was cut off, so that a second
/// rounding to nearest, in a type with at least two bits less, gives what a single one would have given
/// (Boldo and Melquiond 2008). `error` has the sign of exact - nearest and is 0 when that is 0. In integers,
/// so that loops vectorise.
inline float to_odd(float nearest, float error) {
  const auto bits = std::bit_cast<std::uint32_t>(nearest), error_bits = std::bit_cast<std::uint32_t>(error);
  const auto is_exact = static_cast<std::uint32_t>((error_bits << 1) == 0);
  const auto is_special = static_cast<std::uint32_t>((bits & 0x7F800000u) == 0x7F800000u);
  const std::uint32_t moves = ~(bits | is_exact | is_special) & 1u;
  // Codes are sign and magnitude: + 1 goes away from zero, - 1 back.
  const std::uint32_t goes_back = (bits ^ error_bits) >> 31;
  return std::bit_cast<float>(bits + moves - ((moves & goes_back) << 1));
}

/// A double rounded once to E: to fp32 by rounding to odd, which keeps at least 24 - 11 = 13 bits to spare,
/// then to E.
template <Narrow E>
typename E::Stored narrow_once(double exact) {
  const auto nearest = static_cast<float>(exact);
  const double error = exact - static_cast<double>(nearest);  // exact: both are doubles within one fp32 ulp
  // The error may be too small for fp32; its sign and whether it is zero are not.
  const auto error_bits = std::bit_cast<std::uint64_t>(error);
  const auto sign = static_cast<std::uint32_t>(error_bits >> 32) & 0x80000000u;
  const auto is_inexact = static_cast<std::uint32_t>((error_bits << 1) != 0);
  return E::narrow(to_odd(nearest, std::bit_cast<float>(sign | is_inexact)));
}

/// True when `factor` times any E is exact in fp32, so that narrowing it is the only rounding: the
/// significant bits of both fit in 24, and the last bit of the smallest product is a subnormal fp32 or larger
/// (2^-149). Overflow is no obstacle: a product at or above 2^128 is an infinity in every E as well.
template <Narrow E>
bool product_is_exact_in_f32(float factor) {
  if (factor == 0 || !std::isfinite(factor)) return true;
  int exponent = 0;
  const float fraction = std::frexp(factor, &exponent);  // in [0.5, 1), times 2^exponent
  const auto significand = static_cast<std::int32_t>(std::ldexp(fraction, 24));
  const int trailing_zeros = std::countr_zero(static_cast<std::uint32_t>(significand));
  const int last_bit = exponent - 24 + trailing_zeros;
  return (24 - trailing_zeros) + E::kSignificantBits <= 24 && last_bit + E::kSmallestExponent >= -149;
}

}  // namespace shardcheck::cpu
