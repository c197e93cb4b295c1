// D = alpha * A^T B + beta * C by an arithmetic profile, in cuBLASLt's column-major view, and the one case
// that weight gradients use. A GEMM on a chip whose profile is known is of the class exact: compared bit for
// bit (law F66). Read next: profile.h for what a profile says; aligned_gemm.cpp and exact_gemm.cpp for the
// two ways to sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/numerics/format.h"
#include "core/numerics/profile.h"
#include "core/tensor/dtype.h"

namespace shardcheck {

/// An operand as rows by k, wherever its codes lie: element (row, i) is code number row * row_stride + i *
/// k_stride.
struct OperandView {
  FormatId format;
  std::span<const std::byte> codes;  ///< little-endian; one byte a code for FP8
  std::int64_t row_stride;           ///< elements
  std::int64_t k_stride;             ///< elements
};

/// Which scale belongs to which element of an FP8 operand (fp8 3.3, 6.1).
enum class ScaleMode : std::uint8_t {
  none,          ///< bf16, fp16, fp32
  tensor,        ///< one
  outer_vector,  ///< one a row
  vector128,     ///< one a row and 128 of k: [k-block][row, padded to 4]
  block128x128,  ///< one a 128 rows and 128 of k: [row-block][k-block, padded to 4]
};

/// Whether C enters, with factor 1. Other factors are not part of any profile.
enum class GemmBeta : std::uint8_t { zero, one };

/// FP8 only: one accumulator over all of K, or promoted to fp32 in intervals.
enum class FastAccumulation : std::uint8_t { off, on };

/// A matrix product. Shapes: a is m x k, b is n x k, C and D are m x n, column-major with leading dimension
/// m.
struct GemmProblem {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  OperandView a;
  OperandView b;
  ScaleMode scale_mode_a;
  ScaleMode scale_mode_b;
  std::span<const float> scales_a;
  std::span<const float> scales_b;
  float alpha;
  GemmBeta beta;
  DType output;  ///< f32, bf16 or f16, of C and D
  FastAccumulation fast_accumulation;
  int split_k;  ///< 1: K is walked once
};

/// Scales that `mode` needs for an operand of rows x k, padding included.
std::int64_t scale_count(ScaleMode mode, std::int64_t rows, std::int64_t k);

/// Why `profile` says nothing about this problem (a sentence), or nothing when it does. Sizes are not looked
/// at.
std::optional<std::string> unsupported_reason(const ArithmeticProfile& profile, const GemmProblem& problem);

/// Computes D. `c` is read only with GemmBeta::one and may be the same bytes as `d`. k = 0 gives the empty
/// sum. Exactness class: exact; with NaN or infinity among the operands only the class of an output is
/// specified (NaN is written as the canonical quiet NaN). Requires: no unsupported_reason, spans large
/// enough, m, n, k
/// >= 0. Source: tensor-core 1.
void gemm(const ArithmeticProfile& profile, const GemmProblem& problem, std::span<const std::byte> c,
          std::span<std::byte> d);

/// A weight gradient, all row-major: destination (out x in) = dy^T x, plus destination when `accumulate`,
/// with dy (tokens x out) and x (tokens x in) of type `operand` (bf16 or f16; f32 with the ideal profile
/// only) and destination of type `output` (f32, bf16 or f16). tokens = 0 writes +0, or with `accumulate`
/// leaves every byte as it is. Exactness class: exact.
void wgrad(const ArithmeticProfile& profile, DType operand, std::span<const std::byte> dy,
           std::span<const std::byte> x, std::int64_t tokens, std::int64_t out, std::int64_t in,
           bool accumulate, DType output, std::span<std::byte> destination);

}  // namespace shardcheck
