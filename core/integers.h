// Integer arithmetic that cannot be silently wrong: sizes are signed 64-bit, products are overflow-checked,
// and division says which way it rounds.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>

#include "core/assert.h"

namespace shardcheck {

/// a * b, or nothing when it does not fit 64 bits.
constexpr std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// a + b, or nothing when it does not fit 64 bits.
constexpr std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// a / b where b divides a; asserts that it does.
constexpr std::int64_t div_exact(std::int64_t a, std::int64_t b) {
  SC_ASSERT(b > 0 && a % b == 0, "div_exact: the divisor does not divide");
  return a / b;
}

/// Floor of a / b for a >= 0, b > 0.
constexpr std::int64_t div_floor(std::int64_t a, std::int64_t b) {
  SC_ASSERT(a >= 0 && b > 0, "div_floor: negative operand");
  return a / b;
}

/// Ceiling of a / b for a >= 0, b > 0.
constexpr std::int64_t div_ceil(std::int64_t a, std::int64_t b) {
  SC_ASSERT(a >= 0 && b > 0, "div_ceil: negative operand");
  return a / b + (a % b != 0);
}

/// The smallest multiple of b that is at least a.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
  const auto result = checked_multiply(div_ceil(a, b), b);
  SC_ASSERT(result.has_value(), "round_up: overflow");
  return *result;
}

}  // namespace shardcheck
