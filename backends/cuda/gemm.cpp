#include "backends/cuda/gemm.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpu/operand_profile.h"
#include "backends/cuda/check.h"
#include "backends/cuda/reduce_steps.h"
#include "core/assert.h"
#include "core/error.h"

namespace shardcheck::gpu {
namespace {

bool is_float(DType type) {
  return type == DType::f32 || type == DType::bf16 || type == DType::f16;
}
bool is_fp8(DType type) {
  return type == DType::e4m3 || type == DType::e5m2;
}

void check(const Gemm& gemm, const GemmRanges& ranges, GemmTypes types) {
  SC_ASSERT(ranges.dy.numel == gemm.tokens * gemm.rows, "dy is not tokens x rows");
  SC_ASSERT(ranges.x.numel == gemm.tokens * gemm.columns, "x is not tokens x columns");
  SC_ASSERT(ranges.destination.numel == gemm.rows * gemm.columns, "the destination is not rows x columns");
  SC_ASSERT(ranges.dy.dtype == ranges.x.dtype, "dy and x differ in type");
  SC_ASSERT(ranges.dy.dtype == types.operand && ranges.destination.dtype == types.destination,
            "types differ between ranks");
  SC_ASSERT(!ranges.destination.overlaps(ranges.dy) && !ranges.destination.overlaps(ranges.x),
            "a GEMM writes into its own operand");
}

void check(const GemmProblem& problem, const MatmulRanges& ranges, MatmulTypes types) {
  SC_ASSERT(ranges.a.numel == problem.m * problem.k, "A is not m x k");
  SC_ASSERT(ranges.b.numel == problem.n * problem.k, "B is not n x k");
  SC_ASSERT(ranges.d.numel == problem.m * problem.n, "D is not m x n");
  SC_ASSERT(ranges.scales_a.numel >= scale_count(problem.scale_mode_a, problem.m, problem.k),
            "too few scales of A");
  SC_ASSERT(ranges.scales_b.numel >= scale_count(problem.scale_mode_b, problem.n, problem.k),
            "too few scales of B");
  SC_ASSERT((MatmulTypes{ranges.a.dtype, ranges.b.dtype, ranges.d.dtype} == types),
            "types differ between ranks");
  for (const Range* read : {&ranges.a, &ranges.b, &ranges.scales_a, &ranges.scales_b}) {
    SC_ASSERT(!ranges.d.overlaps(*read), "a GEMM writes into its own operand");
  }
}

/// A scale that is one number may lie anywhere.
bool operands_are_aligned(const MatmulTable& table) {
  const bool scale_vectors = table.op.scales_a != ScaleKind::none && table.op.scales_a != ScaleKind::tensor;
  for (int i = 0; i < table.ranks; ++i) {
    if (!is_aligned(table.a[i]) || !is_aligned(table.b[i]) || !is_aligned(table.d[i])) return false;
    if (scale_vectors && (!is_aligned(table.scales_a[i]) || !is_aligned(table.scales_b[i]))) return false;
  }
  return true;
}

/// A leading dimension whose rows all begin on 16 bytes.
bool rows_are_aligned(long long elements, DType type) {
  return elements * bytes_of(type) % 16 == 0;
}

bool leading_dimensions_are_aligned(const Matmul& op, MatmulTypes types) {
  return rows_are_aligned(op.a == OperandLayout::transposed ? op.k : op.m, types.a) &&
         rows_are_aligned(op.b == OperandLayout::plain ? op.k : op.n, types.b) &&
         rows_are_aligned(op.m, types.d);
}

/// A wgrad in cuBLASLt's view: D^T (columns x rows, column-major) = x^T dy, A = x as it lies, B = dy
/// transposed.
Matmul matmul_of(const Gemm& gemm) {
  return {.m = gemm.columns,
          .n = gemm.rows,
          .k = gemm.tokens,
          .a = OperandLayout::plain,
          .b = OperandLayout::transposed,
          .accumulate = gemm.accumulate};
}

MatmulTable table_of(const Matmul& op, MatmulTypes types) {
  const GemmProblem problem = problem_of(op, types);
  MatmulTable table{};
  table.op = op;
  table.a_row_stride = problem.a.row_stride;
  table.a_k_stride = problem.a.k_stride;
  table.b_row_stride = problem.b.row_stride;
  table.b_k_stride = problem.b.k_stride;
  return table;
}

const float* floats(const Range& range) {
  SC_ASSERT(range.numel == 0 || range.dtype == DType::f32, "scales are fp32");
  return reinterpret_cast<const float*>(range.data);
}

/// The way back, for the exact sum.
GemmTable wgrad_table(const MatmulTable& from) {
  GemmTable table{};
  table.ranks = from.ranks;
  table.tokens = from.op.k;
  table.rows = from.op.n;
  table.columns = from.op.m;
  table.accumulate = from.op.accumulate;
  std::copy_n(from.a, from.ranks, table.x);
  std::copy_n(from.b, from.ranks, table.dy);
  std::copy_n(from.d, from.ranks, table.destination);
  return table;
}

std::string describe(const Gemm& gemm, const GemmShape& shape) {
  return fmt::format("GPU {}: wgrad {} x {}, {} tokens, {} -> {}, beta {}", shape.device, gemm.rows,
                     gemm.columns, gemm.tokens, name_of(shape.types.a), name_of(shape.types.d),
                     gemm.accumulate ? 1 : 0);
}

}  // namespace

/// Why our own kernel computes it, or nothing when cuBLASLt may be asked.
std::string GemmUnit::why_not_library(const GemmShape& shape, const MatmulTable& table) const {
  const Matmul& op = shape.op;
  if (!is_fp8(shape.types.a) && shape.types.d != DType::f32 && shape.types.d != shape.types.a) {
    return "cuBLASLt has no such pair of types";
  }
  if (is_fp8(shape.types.a) && (op.a != OperandLayout::transposed || op.b != OperandLayout::plain)) {
    return "on this chip cuBLASLt multiplies FP8 in TN only";
  }
  // In double: the product of three sizes need not fit 64 bits.
  const double products = static_cast<double>(op.m) * static_cast<double>(op.n) * static_cast<double>(op.k);
  if (products == 0) return "there is no product";
  if (products < static_cast<double>(emulate_below_)) {
    return fmt::format("fewer than {} multiply-adds", emulate_below_);
  }
  if (!operands_are_aligned(table)) return "an operand does not begin on 16 bytes";
  if (!leading_dimensions_are_aligned(op, shape.types))
    return "a leading dimension is no multiple of 16 bytes";
  return "";
}

/// Decided once a shape, and once more for operands that lie badly.
GemmUnit::Way GemmUnit::choose(const GemmShape& shape, const MatmulTable& table, const Gemm* wgrad) {
  auto& ways = operands_are_aligned(table) ? aligned_ways_ : unaligned_ways_;
  const auto found = ways.find(shape);
  if (found != ways.end()) return found->second;
  Way way = Way::emulated;
  std::string how;
  if (profile_for(shape.types.a, kHopper).summation == Summation::exact) {
    way = Way::exactly;
    how = "exact sum, rounded once (profile ideal): the operands are fp32";
  } else if (const std::string reason = why_not_library(shape, table); !reason.empty()) {
    how = "emulated (profile hopper): " + reason;
  } else if (const auto algorithm = library_.algorithm_for(shape, table)) {
    way = Way::by_library;
    how = describe(*algorithm);
  } else {
    how = "emulated (profile hopper): cuBLASLt offers no algorithm that leaves K whole without workspace";
  }
  const std::string name = wgrad == nullptr ? describe(shape) : describe(*wgrad, shape);
  algorithms_.push_back(name + ": " + how);
  return ways.emplace(shape, way).first->second;
}

void GemmUnit::launch(Way way, const GemmShape& shape, const MatmulTable& table, cudaStream_t stream) {
  switch (way) {
    case Way::by_library: return library_.launch(shape, table, stream);
    case Way::emulated: return launch_hopper_matmul(table, shape.types, stream);
    case Way::exactly: return launch_exact_gemm(wgrad_table(table), {shape.types.a, shape.types.d}, stream);
  }
}

GemmUnit::Call GemmUnit::call_of(const Gemm& gemm, std::span<const GemmRanges> ranks, const Gpu& gpu) {
  const Matmul op = matmul_of(gemm);
  const MatmulTypes types{ranks[0].dy.dtype, ranks[0].dy.dtype, ranks[0].destination.dtype};
  Call call{{gpu.device(), op, types}, table_of(op, types)};
  for (const GemmRanges& ranges : ranks) {
    call.table.a[call.table.ranks] = ranges.x.data;
    call.table.b[call.table.ranks] = ranges.dy.data;
    call.table.d[call.table.ranks++] = ranges.destination.data;
  }
  return call;
}

void GemmUnit::prepare(const Gemm& gemm, std::span<const GemmRanges> ranks, const Gpu& gpu) {
  if (gemm.rows == 0 || gemm.columns == 0 || gemm.tokens == 0) return;
  const Call call = call_of(gemm, ranks, gpu);
  choose(call.shape, call.table, &gemm);
}

void GemmUnit::run(const Gemm& gemm, std::span<const GemmRanges> ranks, const Gpu& gpu, cudaStream_t stream) {
  SC_ASSERT(gemm.tokens >= 0 && gemm.rows >= 0 && gemm.columns >= 0, "a GEMM has a negative extent");
  SC_ASSERT(!ranks.empty() && ranks.size() <= kRanksPerLaunch, "a launch takes 1 to 64 ranks");
  const GemmTypes types{ranks[0].dy.dtype, ranks[0].destination.dtype};
  SC_ASSERT(is_float(types.operand) && is_float(types.destination), "a wgrad takes f32, bf16 and f16 only");
  for (const GemmRanges& ranges : ranks) check(gemm, ranges, types);
  if (gemm.rows == 0 || gemm.columns == 0) return;
  if (gemm.tokens == 0) {
    // W9: nothing to add is not an addition of zero, because -0 + 0 would change a byte.
    if (gemm.accumulate) return;
    RankTable destinations{};
    for (const GemmRanges& ranges : ranks) {
      destinations.numel[destinations.ranks] = ranges.destination.numel;
      destinations.destination[destinations.ranks++] = ranges.destination.data;
    }
    return launch_fill(destinations, bytes_of(types.destination), 0, stream);
  }
  const Call call = call_of(gemm, ranks, gpu);
  launch(choose(call.shape, call.table, &gemm), call.shape, call.table, stream);
}

void GemmUnit::run(const Matmul& matmul, std::span<const MatmulRanges> ranks, const Gpu& gpu,
                   cudaStream_t stream) {
  SC_ASSERT(!ranks.empty() && ranks.size() <= kRanksPerLaunch, "a launch takes 1 to 64 ranks");
  const MatmulTypes types{ranks[0].a.dtype, ranks[0].b.dtype, ranks[0].d.dtype};
  refuse_unsupported(kHopper, matmul, types);
  const GemmProblem problem = problem_of(matmul, types);
  MatmulTable table = table_of(matmul, types);
  for (const MatmulRanges& ranges : ranks) {
    check(problem, ranges, types);
    table.a[table.ranks] = ranges.a.data;
    table.b[table.ranks] = ranges.b.data;
    table.scales_a[table.ranks] = floats(ranges.scales_a);
    table.scales_b[table.ranks] = floats(ranges.scales_b);
    table.d[table.ranks++] = ranges.d.data;
  }
  if (matmul.m == 0 || matmul.n == 0) return;
  const GemmShape shape{gpu.device(), matmul, types};
  launch(choose(shape, table, nullptr), shape, table, stream);
}

}  // namespace shardcheck::gpu
