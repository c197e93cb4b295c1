// The inner step of a tensor core (tensor-core 1): align all terms to the largest exponent, truncate each,
// add exactly, truncate the sum. Sixteen sums at a time, so that a compiler vectorises over them. Invariant:
// every double below holds an exact value until a line that says trunc. Products have at most 22 significant
// bits, aligned terms are integers below 2^(F+3), a step of 32 of them and the accumulator stays below 2^53.
// Read next: aligned_gemm.cpp, which walks K with it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/numerics/profile.h"

namespace shardcheck {

inline constexpr int kLanes = 16;  ///< sums computed together

/// The exponent that zero counts with: below every sum of two real exponents, far inside a double's range.
inline constexpr std::int32_t kZeroExponent = -400;

/// 2^exponent for -1022 <= exponent <= 1023.
inline double power_of_two(std::int32_t exponent) {
  return std::bit_cast<double>(static_cast<std::int64_t>(exponent + 1023) << 52);
}

/// The exponent field of a double as a number: floor(log2 |value|) for normal ones, -1023 for zero, 1024 for
/// infinity.
inline std::int32_t exponent_of(double value) {
  return static_cast<std::int32_t>((std::bit_cast<std::int64_t>(value) >> 52) & 0x7ff) - 1023;
}

/// Running sums of kLanes outputs, each a value of fp32's range with its exponent (kZeroExponent for zero).
struct AlignedSums {
  alignas(64) double value[kLanes] = {};
  alignas(64) std::int32_t exponent[kLanes];

  AlignedSums() { std::fill_n(exponent, kLanes, kZeroExponent); }
};

/// The end of a step: total[lane] * 2^(largest[lane] - F), which is exact, truncated to P fraction bits.
inline void end_step(AlignedSums& sums, const Accumulator& rule, const std::int32_t* largest,
                     const double* total) {
  constexpr std::int32_t kSmallestExponent = -126;
  constexpr double kTooLarge = 0x1p128;
  const std::int32_t alignment = rule.alignment_bits;
  const std::int32_t kept = rule.kept_bits;
  for (int lane = 0; lane < kLanes; ++lane) {
    const double sum = total[lane] * power_of_two(largest[lane] - alignment);
    const std::int32_t exponent = std::max(exponent_of(sum), kSmallestExponent);
    // + 0.0 turns -0 into the +0 that the model writes.
    const double truncated =
        std::trunc(sum * power_of_two(kept - exponent)) * power_of_two(exponent - kept) + 0.0;
    const double infinity = std::copysign(std::numeric_limits<double>::infinity(), truncated);
    sums.value[lane] = std::abs(truncated) >= kTooLarge ? infinity : truncated;
    sums.exponent[lane] = truncated == 0.0 ? kZeroExponent : std::min(exponent, 128);
  }
}

/// Adds `count` <= products_per_step products to every sum. a holds [count][kLanes] values and exponents, b
/// holds [count], shared by the lanes. An operand's exponent is its format's own: unnormalised for
/// subnormals, kZeroExponent for zero. NaN and infinity pass through to a result of the right class. A sum of
/// 2^128 or more becomes infinity (tensor-core is silent about it). Exactness class: exact. Source:
/// tensor-core 1, `step`.
inline void aligned_step(AlignedSums& sums, const Accumulator& rule, int count, const double* a,
                         const std::int32_t* a_exponent, const double* b, const std::int32_t* b_exponent) {
  std::int32_t largest[kLanes];
  std::copy_n(sums.exponent, kLanes, largest);
  for (int i = 0; i < count; ++i) {
    for (int lane = 0; lane < kLanes; ++lane) {
      largest[lane] = std::max(largest[lane], a_exponent[i * kLanes + lane] + b_exponent[i]);
    }
  }

  double to_integer[kLanes];
  double total[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    to_integer[lane] = power_of_two(rule.alignment_bits - largest[lane]);
    total[lane] = std::trunc(sums.value[lane] * to_integer[lane]);
  }
  for (int i = 0; i < count; ++i) {
    for (int lane = 0; lane < kLanes; ++lane) {
      total[lane] += std::trunc(a[i * kLanes + lane] * b[i] * to_integer[lane]);
    }
  }
  end_step(sums, rule, largest, total);
}

}  // namespace shardcheck
