// How far two right results of one op may be apart when at least one side does not say how it adds. Each side
// is within its own bound E of the exact result of the same operands, so |reference - candidate| <=
// E(reference) + E(candidate). No number here is chosen: each follows from a count of roundings
// (wgrad-contract 8, core/numerics/bounds.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/shadow/operands.h"
#include "backends/shadow/yardstick.h"

namespace shardcheck::shadowing {

/// A weight gradient with its operands, as in core/numerics/gemm.h wgrad().
struct GemmOperands {
  Gemm gemm;
  DType operand;
  DType output;
  std::span<const std::byte> dy, x;
  std::span<const std::byte> destination;  ///< before the op; read with gemm.accumulate only
};

/// E of a side with this profile, for every element of the destination. For element d = c + sum_k a_k b_k
/// with K tokens, Abs = sum_k |a_k b_k|:
///
///     |result - d| <= P Abs + Q |c| + A,   P = (1 + p)(1 + s) - 1
///
/// p bounds the accumulation: 0 for "ideal"; expm1(K (2^(1-t) + 2^-23)), t = 23, for 16-bit operands (the
/// model A-TC of wgrad 8.2: a step of n terms that cuts each to t bits below the largest, and its result to
/// 2^-23, errs by at most (n + 1) 2^-t + 2^-23 of |acc| + sum |a_k b_k|; over all steps the n sum to K and
/// there are at most K steps. Sequential IEEE additions are inside it); growth(K of fp32) for fp32 operands,
/// which are taken to be multiplied as fp32. s and Q count the roundings of the output: none for fp32 with
/// beta = 0, one of fp32 with beta = 1, one of the 16-bit type with beta = 0, and with beta = 1 one of fp32
/// and up to two of the type for the product, one of each for c; "ideal" rounds once. A is underflow. A
/// subnormal 16-bit operand is aligned as if it were the smallest normal number (tensor-core 1), so it counts
/// as that in Abs. Where the result may overflow, the bound is infinite; where an operand is not finite, NaN.
std::vector<double> gemm_bound(const GemmOperands& operands, const std::string& profile);

/// E of one side for sums of `values.size()` addends of `type` in any order: growth(n - 1 roundings, one more
/// when averaging) * |factor| * sum |x_i|, plus underflow of the products. Infinite and NaN as above.
struct SumOfRanks {
  DType type;
  Reduction reduction;
};
double sum_bound(std::span<const double> values, const SumOfRanks& sum);

/// E(reference) + E(candidate) for every element that the op wrote on the rank at `position`. The op is a
/// Gemm, or a Communicate that reduces; `operands` kept all that it overwrites.
std::vector<double> bounds_of(Operands& operands, std::size_t position, const Sides& sides);

}  // namespace shardcheck::shadowing
