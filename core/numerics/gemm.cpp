// The front of a GEMM: what a profile covers, whether the spans are large enough, and which way to sum.
#include "core/numerics/gemm.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/assert.h"
#include "core/numerics/aligned_gemm.h"
#include "core/numerics/exact_gemm.h"
#include "core/numerics/gemm_elements.h"

namespace shardcheck {

using namespace gemm_elements;

namespace {

constexpr bool is_fp8(FormatId id) {
  return id == FormatId::e4m3 || id == FormatId::e5m2;
}
constexpr bool is_sixteen_bit(FormatId id) {
  return id == FormatId::bf16 || id == FormatId::f16;
}

/// Whether the chip has an accumulator for the operands, and it is known.
bool has_rule(const ArithmeticProfile& profile, const GemmProblem& problem) {
  if (is_fp8(problem.a.format)) {
    const bool is_fast = problem.fast_accumulation == FastAccumulation::on;
    return (is_fast ? profile.fp8_fast : profile.fp8_promoted).exists();
  }
  return problem.a.format == FormatId::f16 || profile.operands == SixteenBitOperands::bf16_and_f16;
}

std::optional<std::string> unsupported_operands(const ArithmeticProfile& profile,
                                                const GemmProblem& problem) {
  const FormatId a = problem.a.format;
  const FormatId b = problem.b.format;
  const bool measured = (is_sixteen_bit(a) && a == b) ||
                        (is_fp8(a) && is_fp8(b) && !(a == FormatId::e5m2 && b == FormatId::e5m2));
  const bool exact_only = (is_fp8(a) && is_fp8(b)) || (a == FormatId::f32 && b == FormatId::f32);
  if (profile.summation == Summation::exact ? measured || exact_only : measured && has_rule(profile, problem))
    return std::nullopt;
  const bool is_promoted = is_fp8(a) && problem.fast_accumulation == FastAccumulation::off;
  return fmt::format("profile {} has no rule for {} x {} operands{}", profile.name, format_of(a).name,
                     format_of(b).name, is_promoted ? " with promotion" : "");
}

std::optional<std::string> unsupported_scales(const GemmProblem& problem) {
  const ScaleMode a = problem.scale_mode_a;
  const ScaleMode b = problem.scale_mode_b;
  if (!is_fp8(problem.a.format)) {
    if (a == ScaleMode::none && b == ScaleMode::none) return std::nullopt;
    return "scales belong to FP8 operands";
  }
  if (is_block_mode(a) != is_block_mode(b) || (!is_block_mode(a) && a != b)) {
    return "the scale modes of A and B do not go together";
  }
  if (a == ScaleMode::block128x128 && b == ScaleMode::block128x128) {
    return "128x128 scales on both operands are not offered by any library";
  }
  return std::nullopt;
}

/// What no chip was asked, and what none has.
std::optional<std::string> not_looked_at(const ArithmeticProfile& profile, const GemmProblem& problem) {
  if (profile.summation == Summation::exact || !is_block_mode(problem.scale_mode_a)) return std::nullopt;
  if (problem.split_k != 1) return "split-K with block scales was not looked at";
  if (problem.fast_accumulation == FastAccumulation::on) return "block scales have no fast accumulation";
  return std::nullopt;
}

/// Elements that a strided view touches.
std::int64_t extent(const OperandView& view, std::int64_t rows, std::int64_t k) {
  return rows == 0 || k == 0 ? 0 : (rows - 1) * view.row_stride + (k - 1) * view.k_stride + 1;
}

bool fits(const OperandView& view, std::int64_t rows, std::int64_t k) {
  const std::int64_t bytes = div_ceil(format_of(view.format).width(), 8);
  return view.row_stride >= 0 && view.k_stride >= 0 &&
         std::ssize(view.codes) >= extent(view, rows, k) * bytes;
}

void assert_sizes(const GemmProblem& problem, std::span<const std::byte> c, std::span<std::byte> d) {
  SC_ASSERT(problem.m >= 0 && problem.n >= 0 && problem.k >= 0 && problem.split_k >= 1, "gemm: sizes");
  SC_ASSERT(fits(problem.a, problem.m, problem.k), "gemm: A is smaller than m x k");
  SC_ASSERT(fits(problem.b, problem.n, problem.k), "gemm: B is smaller than n x k");
  SC_ASSERT(std::ssize(problem.scales_a) >= scale_count(problem.scale_mode_a, problem.m, problem.k),
            "gemm: too few scales of A");
  SC_ASSERT(std::ssize(problem.scales_b) >= scale_count(problem.scale_mode_b, problem.n, problem.k),
            "gemm: too few scales of B");
  const std::int64_t bytes = problem.m * problem.n * bytes_of(problem.output);
  SC_ASSERT(std::ssize(d) >= bytes, "gemm: D is smaller than m x n");
  SC_ASSERT(problem.beta == GemmBeta::zero || std::ssize(c) >= bytes, "gemm: C is smaller than m x n");
}

}  // namespace

std::int64_t scale_count(ScaleMode mode, std::int64_t rows, std::int64_t k) {
  const std::int64_t k_blocks = div_ceil(k, kScaleBlock);
  switch (mode) {
    case ScaleMode::none: return 0;
    case ScaleMode::tensor: return 1;
    case ScaleMode::outer_vector: return rows;
    case ScaleMode::vector128: return k_blocks * round_up(rows, 4);
    case ScaleMode::block128x128: return div_ceil(rows, kScaleBlock) * round_up(k_blocks, 4);
  }
  return 0;
}

std::optional<std::string> unsupported_reason(const ArithmeticProfile& profile, const GemmProblem& problem) {
  if (problem.output != DType::f32 && problem.output != DType::bf16 && problem.output != DType::f16) {
    return fmt::format("output type {} has no rule", name_of(problem.output));
  }
  if (auto reason = unsupported_operands(profile, problem)) return reason;
  if (auto reason = unsupported_scales(problem)) return reason;
  return not_looked_at(profile, problem);
}

void gemm(const ArithmeticProfile& profile, const GemmProblem& problem, std::span<const std::byte> c,
          std::span<std::byte> d) {
  SC_ASSERT(!unsupported_reason(profile, problem), "gemm: ask unsupported_reason first");
  assert_sizes(problem, c, d);
  if (profile.summation == Summation::exact) {
    exact_gemm(problem, c, d);
  } else {
    aligned_gemm(profile, problem, c, d);
  }
}

void wgrad(const ArithmeticProfile& profile, DType operand, std::span<const std::byte> dy,
           std::span<const std::byte> x, std::int64_t tokens, std::int64_t out, std::int64_t in,
           bool accumulate, DType output, std::span<std::byte> destination) {
  const auto format = format_id_of(operand);
  SC_ASSERT(format.has_value(), "wgrad: operands are numbers");
  const std::int64_t bytes = out * in * bytes_of(output);
  SC_ASSERT(std::ssize(destination) >= bytes, "wgrad: the destination is smaller than out x in");
  if (tokens == 0) {
    // Nothing to add is not an addition of zero: -0 + 0 would change a byte.
    if (!accumulate) std::fill_n(destination.begin(), bytes, std::byte{0});
    return;
  }
  // Row-major out x in is column-major in x out, so x is the A and dy the B of the column-major view.
  const GemmProblem problem{
      .m = in,
      .n = out,
      .k = tokens,
      .a = {.format = *format, .codes = x, .row_stride = 1, .k_stride = in},
      .b = {.format = *format, .codes = dy, .row_stride = 1, .k_stride = out},
      .scale_mode_a = ScaleMode::none,
      .scale_mode_b = ScaleMode::none,
      .scales_a = {},
      .scales_b = {},
      .alpha = 1.0f,
      .beta = accumulate ? GemmBeta::one : GemmBeta::zero,
      .output = output,
      .fast_accumulation = FastAccumulation::off,
      .split_k = 1,
  };
  gemm(profile, problem, destination, destination);
}

}  // namespace shardcheck
