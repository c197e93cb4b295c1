#include "backends/cpu/matmul.h"

#include "core/assert.h"

namespace shardcheck::cpu {
namespace {

std::span<const std::byte> bytes(const Range& range) {
  return {range.data, static_cast<std::size_t>(range.bytes())};
}

std::span<const float> floats(const Range& range) {
  SC_ASSERT(range.numel == 0 || range.dtype == DType::f32, "scales are fp32");
  return {reinterpret_cast<const float*>(range.data), static_cast<std::size_t>(range.numel)};
}

}  // namespace

void matmul(const ArithmeticProfile& profile, const Matmul& op, const MatmulRanges& ranges) {
  const MatmulTypes types{ranges.a.dtype, ranges.b.dtype, ranges.d.dtype};
  refuse_unsupported(profile, op, types);
  SC_ASSERT(ranges.a.numel == op.m * op.k, "A is not m x k");
  SC_ASSERT(ranges.b.numel == op.n * op.k, "B is not n x k");
  SC_ASSERT(ranges.d.numel == op.m * op.n, "D is not m x n");
  for (const Range* read : {&ranges.a, &ranges.b, &ranges.scales_a, &ranges.scales_b}) {
    SC_ASSERT(!ranges.d.overlaps(*read), "a GEMM writes into its own operand");
  }
  GemmProblem problem = problem_of(op, types);
  problem.a.codes = bytes(ranges.a);
  problem.b.codes = bytes(ranges.b);
  problem.scales_a = floats(ranges.scales_a);
  problem.scales_b = floats(ranges.scales_b);
  gemm(profile, problem, bytes(ranges.d), {ranges.d.data, static_cast<std::size_t>(ranges.d.bytes())});
}

}  // namespace shardcheck::cpu
