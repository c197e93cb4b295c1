// The slow oracle of the backends' tests: codes, exact sums of any width and one rounding by the readable
// encoder. It shares nothing with the loops under test. Next: rig.h.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "core/tensor/dtype.h"

namespace shardcheck::test {

inline constexpr DType kFloats[] = {DType::f32, DType::bf16, DType::f16};

using Codes = std::vector<std::uint32_t>;

/// The value of a code of f32, bf16 or f16.
double value_of(DType type, std::uint32_t code);

/// The sum of `terms`, exact, rounded once to nearest even. An exact zero is -0 only if all terms are (IEEE
/// 754, 6.3).
std::uint32_t rounded_sum(DType type, std::span<const double> terms);

/// `value` rounded once.
std::uint32_t rounded(DType type, double value);

/// Equal bits, or both NaN: no document promises a payload.
bool same(DType type, std::uint32_t a, std::uint32_t b);

/// A code from a mixture that meets what rounding trips over: any bits, neighbours of one, subnormals, signed
/// zeros, infinities and NaN.
std::uint32_t random_code(DType type, std::mt19937_64& random);

/// As above without NaN and infinity, and with exponents near 0, so that sums have ties.
std::uint32_t random_number(DType type, std::mt19937_64& random);

}  // namespace shardcheck::test
