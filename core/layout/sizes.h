// Arithmetic on sizes that come from a user's shapes: a result beyond 64 bits is bad input, not our mistake,
// so it throws Error where core/integers.h would abort (L26).
#pragma once

#include <cstdint>
#include <numeric>

#include "core/error.h"
#include "core/integers.h"

namespace shardcheck::layout {

/// The error of every function below.
[[noreturn]] inline void size_overflows() {
  throw bad_input("layout", "a size in elements does not fit 64 bits; use smaller shapes or a smaller world");
}

/// a + b in elements; throws Error when it does not fit 64 bits.
inline std::int64_t add_sizes(std::int64_t a, std::int64_t b) {
  const auto sum = checked_add(a, b);
  if (!sum) size_overflows();
  return *sum;
}

/// a * b in elements; throws Error when it does not fit 64 bits.
inline std::int64_t multiply_sizes(std::int64_t a, std::int64_t b) {
  const auto product = checked_multiply(a, b);
  if (!product) size_overflows();
  return *product;
}

/// The smallest multiple of `unit` that is at least `size`; throws Error when it does not fit 64 bits.
inline std::int64_t round_up_size(std::int64_t size, std::int64_t unit) {
  return multiply_sizes(div_ceil(size, unit), unit);
}

/// Least common multiple of two positive sizes; throws Error when it does not fit 64 bits.
inline std::int64_t lcm_sizes(std::int64_t a, std::int64_t b) {
  return multiply_sizes(a / std::gcd(a, b), b);
}

}  // namespace shardcheck::layout
