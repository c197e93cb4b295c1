// A GEMM of the law F66 as a small value: the op, its types, and the families that its numbers come from. The
// same case has the same numbers everywhere. Next: gemm_inputs.h makes the numbers, gemm_law.h judges.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/numerics/profile.h"
#include "core/plan/op.h"
#include "core/tensor/dtype.h"
#include "properties/generate/draw.h"

namespace shardcheck {

/// Where operands come from; every family shows another part of the arithmetic.
enum class OperandFamily : std::uint8_t {
  uniform,         ///< magnitudes in [0.5, 1.5): truncation adds up
  gaussian,        ///< what training looks like
  every_code,      ///< any finite code (bf16: within 50 binades of 1, so that no sum overflows)
  wide_exponents,  ///< alignment loses most of the terms
  sparse,          ///< one in eight is not zero: the exponent of zero must not count
  subnormals,      ///< unnormalised operands keep the format's smallest exponent
};
inline constexpr int kOperandFamilies = 6;
std::string_view name_of(OperandFamily family);

enum class ScaleFamily : std::uint8_t {
  ones,
  powers_of_two,  ///< no rounding in the epilogue
  any,            ///< the order of the multiplications shows
};
std::string_view name_of(ScaleFamily family);

struct GemmCase {
  Matmul op;
  DType a = DType::bf16, b = DType::bf16, d = DType::f32;
  OperandFamily operands = OperandFamily::gaussian;
  ScaleFamily scales = ScaleFamily::ones;
  std::uint64_t seed = 0;
};

/// A case that the profile `hopper` has a rule for, weighted toward corners: 1 to 17 columns, partial steps
/// and chunks, scales that are no powers of two. At most 2^23 products.
GemmCase random_gemm_case(Draw& draw);

/// A case for a recording or a digest: small (m and n at most 48, K at most 1024), and of sizes that
/// libraries take: m, n and K are multiples of 16.
GemmCase library_gemm_case(Draw& draw);

/// "TN 256 x 17 x 512, e4m3 x e5m2 -> bf16, beta 1, alpha 0.7, scales tensor x tensor (any), fast
/// accumulation, wide exponents, seed 7".
std::string describe(const GemmCase& c);

/// The row of the model that the case speaks of (tensor-core 1): accumulator, scales and output.
std::string model_row(const ArithmeticProfile& profile, const GemmCase& c);

}  // namespace shardcheck
