// How far a sum may be from the exact one when only the number of roundings on its paths is known
// (wgrad-contract 8.1). It serves the bounded class only: sums in an unknown order, chips without an
// arithmetic profile.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/assert.h"
#include "core/tensor/dtype.h"

namespace shardcheck {

/// u: the largest relative error of one rounding to nearest into `type`, 2^-p for p significant bits.
constexpr double unit_roundoff(DType type) {
  switch (type) {
    case DType::f32: return 0x1p-24;
    case DType::bf16: return 0x1p-8;
    case DType::f16: return 0x1p-11;
    case DType::e4m3: return 0x1p-4;
    case DType::e5m2: return 0x1p-3;
    case DType::u8: break;
  }
  assertion_failed("type != u8", "bytes have no unit roundoff");
}

/// The most roundings that any leaf of a sum passes through on its way to the result, by the type rounded to.
struct RoundingPath {
  std::int64_t f32;
  std::int64_t bf16;
  std::int64_t f16;
};

/// B with |computed - exact| <= B * sum |x_i|, for every order of the sum.
///
/// Path lemma: each rounding multiplies everything below it by (1 + delta), |delta| <= u, so leaf i arrives
/// as x_i (1 + theta_i) with prod (1-u_j)^n_j <= 1 + theta_i <= prod (1+u_j)^n_j; as 1 - (1-u)^n <= (1+u)^n -
/// 1, |theta_i| <= prod (1+u_j)^n_j - 1 = expm1(sum n_j log1p(u_j)) = B. The three terms, their sum and expm1
/// are each within 2 ulp in double and all are positive; d ln(expm1(t))/d ln(t)
/// <= 1 + t, and expm1 is finite only for t < 710, so the computed B is within 6 * 711 < 2^13 ulp of the
/// exact one and the factor 1 + 2^-39 keeps it an upper bound. Past that B is infinite: the bound says
/// nothing. Assumes rounding to nearest and no overflow. A cast or product that underflows adds up to half a
/// smallest subnormal on top; sums do not.
inline double growth(const RoundingPath& path) {
  SC_ASSERT(path.f32 >= 0 && path.bf16 >= 0 && path.f16 >= 0, "growth: a negative number of roundings");
  const double exponent = static_cast<double>(path.f32) * std::log1p(unit_roundoff(DType::f32)) +
                          static_cast<double>(path.bf16) * std::log1p(unit_roundoff(DType::bf16)) +
                          static_cast<double>(path.f16) * std::log1p(unit_roundoff(DType::f16));
  return std::expm1(exponent) * (1 + 0x1p-39);
}

}  // namespace shardcheck
