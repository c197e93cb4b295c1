// What a Matmul op means as a GemmProblem, said once: the reference computes it and the CUDA backend asks the
// same functions, so that both refuse the same problems with the same sentence. Next: cpu/matmul.h.
#pragma once

#include <string>

#include "core/assert.h"
#include "core/error.h"
#include "core/numerics/gemm.h"
#include "core/numerics/profile.h"
#include "core/plan/op.h"

namespace shardcheck {

struct MatmulTypes {
  DType a, b, d;
  bool operator==(const MatmulTypes&) const = default;
};

/// The op as a problem without operands: codes and scales are empty.
inline GemmProblem problem_of(const Matmul& matmul, MatmulTypes types) {
  SC_ASSERT(matmul.m >= 0 && matmul.n >= 0 && matmul.k >= 0, "a GEMM has a negative extent");
  const auto format_a = format_id_of(types.a), format_b = format_id_of(types.b);
  SC_ASSERT(format_a.has_value() && format_b.has_value(), "an operand of a GEMM is plain bytes");
  static_assert(static_cast<int>(ScaleKind::block128x128) == static_cast<int>(ScaleMode::block128x128));
  const bool a_by_k = matmul.a == OperandLayout::transposed, b_by_k = matmul.b == OperandLayout::plain;
  return {
      .m = matmul.m,
      .n = matmul.n,
      .k = matmul.k,
      .a = {.format = *format_a,
            .codes = {},
            .row_stride = a_by_k ? matmul.k : 1,
            .k_stride = a_by_k ? 1 : matmul.m},
      .b = {.format = *format_b,
            .codes = {},
            .row_stride = b_by_k ? matmul.k : 1,
            .k_stride = b_by_k ? 1 : matmul.n},
      .scale_mode_a = static_cast<ScaleMode>(matmul.scales_a),
      .scale_mode_b = static_cast<ScaleMode>(matmul.scales_b),
      .scales_a = {},
      .scales_b = {},
      .alpha = matmul.alpha,
      .beta = matmul.accumulate ? GemmBeta::one : GemmBeta::zero,
      .output = types.d,
      .fast_accumulation = matmul.fast_accumulation ? FastAccumulation::on : FastAccumulation::off,
      .split_k = 1,
  };
}

/// Throws Error(bad_input) with the sentence when `profile` says nothing about the op.
inline void refuse_unsupported(const ArithmeticProfile& profile, const Matmul& matmul, MatmulTypes types) {
  const auto reason = unsupported_reason(profile, problem_of(matmul, types));
  if (!reason) return;
  const auto name = [](DType type) { return std::string(name_of(type)); };
  throw bad_input("GEMM " + name(types.a) + " x " + name(types.b) + " to " + name(types.d), *reason);
}

}  // namespace shardcheck
