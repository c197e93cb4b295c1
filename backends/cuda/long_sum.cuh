// The exact sum of fp32 products, rounded once: the arithmetic of the profile `ideal`, for operands that no
// tensor core takes. Invariant: the bits of core/numerics/exact_gemm.cpp. Next: exact_gemm.cu.
#pragma once

#include <cstdint>

#include "backends/cuda/element.cuh"

namespace shardcheck::gpu {

/// A sum of fp32 products as one long integer: bit 0 weighs 2^-298, the square of the smallest fp32 number.
/// Digits of 32 bits lie in 64-bit words, so that up to 2^30 terms are added before carries must move. The
/// largest sum is below 2^(256 + 30 + 1), so 298 + 287 bits are enough: 19 digits and one for the sign.
struct LongSum {
  static constexpr int kDigits = 20;
  static constexpr int kLowest = -298;
  long long digit[kDigits];
  bool positive_infinity = false, negative_infinity = false, nan = false;

  __device__ LongSum() {
    for (int i = 0; i < kDigits; ++i) digit[i] = 0;
  }

  /// Adds magnitude * 2^(kLowest + position), magnitude < 2^48.
  __device__ void add(std::uint64_t magnitude, int position, bool negative) {
    const int first = position / 32, shift = position % 32;
    const std::uint64_t low = magnitude << shift;  // 80 bits at most: the two words below
    const std::uint64_t high = shift == 0 ? 0 : magnitude >> (64 - shift);
    const long long parts[3] = {static_cast<long long>(low & 0xFFFFFFFFu), static_cast<long long>(low >> 32),
                                static_cast<long long>(high)};
    for (int i = 0; i < 3; ++i) {
      if (first + i < kDigits) digit[first + i] += negative ? -parts[i] : parts[i];
    }
  }
  __device__ void add_infinity(bool negative) {
    positive_infinity |= !negative;
    negative_infinity |= negative;
  }
};

/// An fp32 number: significand * 2^(field - 150).
struct NumberParts {
  std::uint32_t significand;
  int field;
  bool negative, special;
};
inline __device__ NumberParts parts_of(float value) {
  const std::uint32_t bits = __float_as_uint(value);
  const int field = static_cast<int>(bits >> 23 & 0xFFu);
  const std::uint32_t fraction = bits & 0x7FFFFFu;
  return {field == 0 ? fraction : fraction | 0x800000u, max(field, 1), (bits & 0x80000000u) != 0,
          field == 0xFF};
}

inline __device__ void add_product(LongSum& sum, float a, float b) {
  const NumberParts p = parts_of(a), q = parts_of(b);
  if (p.special || q.special) {
    if (a != a || b != b || a == 0 || b == 0) {
      sum.nan = true;
    } else {
      sum.add_infinity(p.negative != q.negative);
    }
    return;
  }
  // Weights: 2^(field + field - 300) = 2^(kLowest + field + field - 2).
  sum.add(static_cast<std::uint64_t>(p.significand) * q.significand, p.field + q.field - 2,
          p.negative != q.negative);
}

inline __device__ void add_value(LongSum& sum, float value) {
  const NumberParts p = parts_of(value);
  if (p.special) {
    if (value != value) {
      sum.nan = true;
    } else {
      sum.add_infinity(p.negative);
    }
    return;
  }
  sum.add(p.significand, p.field - 150 - LongSum::kLowest, p.negative);
}

template <class E>
struct Rounding;
template <>
struct Rounding<F32> {
  static constexpr int kFractionBits = 23, kSmallestExponent = -126;
  static constexpr std::uint32_t kInfinity = 0x7F800000u, kNan = 0x7FC00000u, kSign = 0x80000000u;
};
template <>
struct Rounding<Bf16> {
  static constexpr int kFractionBits = 7, kSmallestExponent = -126;
  static constexpr std::uint32_t kInfinity = 0x7F80u, kNan = 0x7FC0u, kSign = 0x8000u;
};
template <>
struct Rounding<F16> {
  static constexpr int kFractionBits = 10, kSmallestExponent = -14;
  static constexpr std::uint32_t kInfinity = 0x7C00u, kNan = 0x7E00u, kSign = 0x8000u;
};

/// The 32 bits of the magnitude from bit `position` on; what lies outside is 0.
inline __device__ std::uint32_t bits_from(const std::uint32_t (&magnitude)[LongSum::kDigits], int position) {
  const int first = position / 32, shift = position % 32;
  const std::uint64_t low = first < LongSum::kDigits ? magnitude[first] : 0;
  const std::uint64_t high = first + 1 < LongSum::kDigits ? magnitude[first + 1] : 0;
  return static_cast<std::uint32_t>((low | high << 32) >> shift);
}

inline __device__ bool any_bit_below(const std::uint32_t (&magnitude)[LongSum::kDigits], int position) {
  std::uint32_t any = 0;
  for (int i = 0; i < position / 32; ++i) any |= magnitude[i];
  const int rest = position % 32;
  if (rest != 0) any |= magnitude[position / 32] & ((1u << rest) - 1);
  return any != 0;
}

/// The sum rounded once to nearest even in E. An exact zero is +0.
template <class E>
__device__ typename E::Stored rounded(LongSum& sum) {
  using R = Rounding<E>;
  using Stored = typename E::Stored;
  if (sum.nan || (sum.positive_infinity && sum.negative_infinity)) return static_cast<Stored>(R::kNan);
  if (sum.positive_infinity) return static_cast<Stored>(R::kInfinity);
  if (sum.negative_infinity) return static_cast<Stored>(R::kInfinity | R::kSign);

  // Two's complement in digits, then the magnitude.
  std::uint32_t magnitude[LongSum::kDigits];
  long long carry = 0;
  for (int i = 0; i < LongSum::kDigits; ++i) {
    const long long word = sum.digit[i] + carry;
    magnitude[i] = static_cast<std::uint32_t>(word);
    carry = word >> 32;
  }
  const bool negative = carry < 0;
  if (negative) {
    std::uint32_t one = 1;
    for (int i = 0; i < LongSum::kDigits; ++i) {
      magnitude[i] = ~magnitude[i] + one;
      one = one != 0 && magnitude[i] == 0 ? 1u : 0u;
    }
  }
  int top = -1;
  for (int i = 0; i < LongSum::kDigits; ++i) {
    if (magnitude[i] != 0) top = 32 * i + 31 - __clz(static_cast<int>(magnitude[i]));
  }
  if (top < 0) return 0;

  const int exponent = max(top + LongSum::kLowest, R::kSmallestExponent);
  const int last =
      exponent - R::kFractionBits - LongSum::kLowest;  // position of the last bit that is kept; above 0
  std::uint32_t kept = bits_from(magnitude, last) & ((2u << R::kFractionBits) - 1);
  const bool half = (bits_from(magnitude, last - 1) & 1u) != 0;
  if (half && ((kept & 1u) != 0 || any_bit_below(magnitude, last - 1))) ++kept;
  // The hidden bit adds the 1 that the exponent field lacks here; a carry out of `kept` moves the field up as
  // well.
  std::uint32_t code =
      (static_cast<std::uint32_t>(exponent - R::kSmallestExponent) << R::kFractionBits) + kept;
  if (code > R::kInfinity) code = R::kInfinity;
  return static_cast<Stored>(negative ? code | R::kSign : code);
}

}  // namespace shardcheck::gpu
