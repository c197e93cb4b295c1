// One step of a Hopper tensor core, in integers (tensor-core 1). Invariant: the same bits as
// core/numerics/aligned_sum.h under kHopper. Next: hopper_gemm.cu, which walks K with it.
#pragma once

#include <cstdint>

#include "backends/cuda/element.cuh"
#include "backends/cuda/fp8.cuh"

namespace shardcheck::gpu {

/// An operand: significand * 2^(exponent - fraction bits), a signed integer significand. Zero counts with an
/// exponent below every sum of two real ones (aligned_sum.h: kZeroExponent); infinity has significand +-1 and
/// NaN 0 with an exponent far above them.
struct Operand {
  std::int16_t significand;
  std::int16_t exponent;
};
inline constexpr int kZeroOperandExponent = -400;
inline constexpr int kSpecialExponent = 8192;
inline constexpr int kSpecialSum = 4096;  ///< a sum of two exponents from here on has NaN or infinity in it

template <class E>
struct OperandFormat : E {};  ///< E4m3 and E5m2 say it themselves
template <>
struct OperandFormat<Bf16> {
  static constexpr int kFractionBits = 7, kExponentBits = 8, kBias = 127;
};
template <>
struct OperandFormat<F16> {
  static constexpr int kFractionBits = 10, kExponentBits = 5, kBias = 15;
};

/// The numbers of a step for operands of two formats.
template <class A, class B>
struct Step {
  static_assert(kIsFp8<A> == kIsFp8<B>);
  static constexpr int kProducts = kIsFp8<A> ? 32 : 16;       ///< n
  static constexpr int kAlignmentBits = kIsFp8<A> ? 13 : 25;  ///< F
  static constexpr int kKeptBits = kIsFp8<A> ? 13 : 23;       ///< P
  /// Fraction bits of a product of significands.
  static constexpr int kProductBits = OperandFormat<A>::kFractionBits + OperandFormat<B>::kFractionBits;
};

/// A code of E. A subnormal keeps the format's smallest exponent, unnormalised.
template <class E>
__device__ Operand operand_of(std::uint16_t code) {
  using Format = OperandFormat<E>;
  constexpr int kSignBit = Format::kFractionBits + Format::kExponentBits;
  constexpr int kLargestField = (1 << Format::kExponentBits) - 1;
  const int fraction = code & ((1 << Format::kFractionBits) - 1);
  const int field = (code >> Format::kFractionBits) & kLargestField;
  const bool negative = (code >> kSignBit & 1) != 0;
  int significand = field == 0 ? fraction : fraction | 1 << Format::kFractionBits;
  int exponent = (field == 0 ? 1 : field) - Format::kBias;
  if (significand == 0) exponent = kZeroOperandExponent;
  if constexpr (std::is_same_v<E, E4m3>) {
    // No infinity, and one NaN: the largest exponent holds numbers.
    if ((code & 0x7Fu) == 0x7Fu) {
      significand = 0;
      exponent = kSpecialExponent;
    }
  } else if (field == kLargestField) {
    significand = fraction == 0 ? 1 : 0;
    exponent = kSpecialExponent;
  }
  return {static_cast<std::int16_t>(negative ? -significand : significand),
          static_cast<std::int16_t>(exponent)};
}

/// A step in which NaN or infinity takes part: any NaN, infinity times zero, or infinities of both signs give
/// NaN, else the infinity.
template <int kProducts>
__device__ float special_step(float sum, const int (&products)[kProducts],
                              const int (&exponents)[kProducts]) {
  bool positive = sum == INFINITY, negative = sum == -INFINITY, nan = sum != sum;
  for (int i = 0; i < kProducts; ++i) {
    if (exponents[i] < kSpecialSum) continue;
    positive |= products[i] > 0;
    negative |= products[i] < 0;
    nan |= products[i] == 0;
  }
  if (nan || (positive && negative)) return __uint_as_float(0x7FC00000u);
  return positive ? INFINITY : -INFINITY;
}

/// total * 2^(largest - F), truncated toward zero to P fraction bits and to fp32's subnormal grid; 2^128 and
/// more become infinity.
template <class Rule>
__device__ float truncated_to_f32(long long total, int largest) {
  if (total == 0) return 0.0f;
  const std::uint64_t magnitude = static_cast<std::uint64_t>(total < 0 ? -total : total);
  const int top = 63 - __clzll(static_cast<long long>(magnitude));
  const int lowest = largest - Rule::kAlignmentBits;  // weight of the last bit of total
  const int exponent = max(top + lowest, -126);
  const int shift =
      exponent - Rule::kKeptBits - lowest;  // bits that go; below 0 when there are too few to fill P
  std::uint64_t kept = 0;
  if (shift <= 0) {
    kept = magnitude << -shift;
  } else if (shift < 64) {
    kept = magnitude >> shift;
  }
  // The hidden bit, where there is one, adds the 1 that the exponent field lacks here.
  std::uint32_t bits = (static_cast<std::uint32_t>(exponent + 126) << 23) +
                       (static_cast<std::uint32_t>(kept) << (23 - Rule::kKeptBits));
  if (exponent > 127) bits = 0x7F800000u;
  if (kept == 0) return 0.0f;
  return __uint_as_float(total < 0 ? bits | 0x80000000u : bits);
}

/// sum + n products as one step; a product that does not exist is 0 with a zero's exponent. products[i] =
/// significand * significand, below 2^(kProductBits + 2); exponents[i] = exponent + exponent.
template <class Rule>
__device__ float tensor_core_step(float sum, const int (&products)[Rule::kProducts],
                                  const int (&exponents)[Rule::kProducts]) {
  const std::uint32_t sum_bits = __float_as_uint(sum);
  const int sum_field = static_cast<int>(sum_bits >> 23 & 0xFFu);
  int largest = (sum_bits & 0x7FFFFFFFu) == 0 ? 2 * kZeroOperandExponent : max(sum_field, 1) - 127;
#pragma unroll
  for (int i = 0; i < Rule::kProducts; ++i) largest = max(largest, exponents[i]);
  if (largest >= kSpecialSum || sum_field == 0xFF) return special_step(sum, products, exponents);

  // A product has kProductBits below its point; in units of 2^(largest - F) it is shifted left by kLeft and
  // right by what its exponent lacks. Below 2^27 each, so that a step of them stays below 2^31: at most
  // 16 * 255^2 * 2^11 (bf16), 16 * 2047^2 * 2^5 (fp16), 32 * 15^2 * 2^7 (E4M3).
  constexpr int kLeft = Rule::kAlignmentBits - Rule::kProductBits;
  static_assert(kLeft > 0);
  int total = 0;
#pragma unroll
  for (int i = 0; i < Rule::kProducts; ++i) {
    const unsigned magnitude = static_cast<unsigned>(abs(products[i])) << kLeft;
    const int aligned = static_cast<int>(magnitude >> min(largest - exponents[i], 31));
    total += products[i] < 0 ? -aligned : aligned;
  }
  const std::uint32_t fraction = sum_bits & 0x7FFFFFu;
  const std::uint32_t significand = sum_field == 0 ? fraction : fraction | 0x800000u;
  const int lacks = largest - (max(sum_field, 1) - 127);
  constexpr int kUp = Rule::kAlignmentBits > 23 ? Rule::kAlignmentBits - 23 : 0;
  constexpr int kDown = Rule::kAlignmentBits < 23 ? 23 - Rule::kAlignmentBits : 0;
  const std::uint32_t aligned_sum = significand << kUp >> kDown >> min(lacks, 31);
  const long long carried = (sum_bits & 0x80000000u) != 0 ? -static_cast<long long>(aligned_sum)
                                                          : static_cast<long long>(aligned_sum);
  return truncated_to_f32<Rule>(total + carried, largest);
}

}  // namespace shardcheck::gpu
