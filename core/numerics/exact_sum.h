// A sum of dyadic numbers without any rounding: a fixed-point number wide enough for every product of two
// fp32 operands and three fp32 factors. The `ideal` profile rests on it. Read next: exact_gemm.cpp, which
// avoids it where a double or 128 bits are provably enough.
#pragma once

#include <array>
#include <cstdint>

#include "core/numerics/dyadic.h"

namespace shardcheck {

/// Value: sum of limb[i] * 2^(32 i + kLowestExponent), limbs signed. Five fp32 factors reach down to
/// 2^(-5*149) and up to 2^(5*128); 2^64 terms more end below 2^768.
class ExactSum {
 public:
  static constexpr int kLowestExponent = -768;
  static constexpr int kLimbs = 48;

  /// Adds significand * 2^exponent. Exact.
  void add(std::int64_t significand, int exponent);

  /// Adds a finite double or float. Exact.
  void add(double value);

  /// Adds another sum. Exact.
  void add(const ExactSum& other);

  /// Multiplies by a finite float. Exact.
  void multiply(float factor);

  /// The value with its top 64 bits; what lies below is said by `inexact`.
  Dyadic value() const;

 private:
  /// Brings every limb but the top one into [0, 2^32); the top one carries the sign.
  void carry();

  /// Replaces the value by its magnitude and says whether it was negative.
  bool drop_sign();

  std::array<std::int64_t, kLimbs> limb_{};
  std::int64_t additions_ = 0;
};

}  // namespace shardcheck
