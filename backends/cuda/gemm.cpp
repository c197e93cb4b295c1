#include "backends/cuda/gemm.h"

#include <fmt/format.h>

#include "backends/cuda/check.h"
#include "backends/cuda/reduce_steps.h"
#include "core/assert.h"
#include "core/error.h"

namespace shardcheck::gpu {
namespace {

void check(const Gemm& gemm, const GemmRanges& ranges) {
  SC_ASSERT(ranges.dy.numel == gemm.tokens * gemm.rows, "dy is not tokens x rows");
  SC_ASSERT(ranges.x.numel == gemm.tokens * gemm.columns, "x is not tokens x columns");
  SC_ASSERT(ranges.destination.numel == gemm.rows * gemm.columns, "the destination is not rows x columns");
  SC_ASSERT(ranges.dy.dtype == ranges.x.dtype, "dy and x differ in type");
  SC_ASSERT(!ranges.destination.overlaps(ranges.dy) && !ranges.destination.overlaps(ranges.x),
            "a GEMM writes into its own operand");
}

bool is_float(DType type) {
  return type == DType::f32 || type == DType::bf16 || type == DType::f16;
}

bool operands_are_aligned(const GemmTable& table) {
  for (int i = 0; i < table.ranks; ++i) {
    if (!is_aligned(table.dy[i]) || !is_aligned(table.x[i]) || !is_aligned(table.destination[i]))
      return false;
  }
  return true;
}

/// A leading dimension whose rows all begin on 16 bytes.
bool rows_are_aligned(long long elements, DType type) {
  return elements * bytes_of(type) % 16 == 0;
}

}  // namespace

/// Why our own kernel computes it, or nothing when cuBLASLt may be asked.
std::string GemmUnit::why_not_library(const GemmShape& shape, const GemmTable& table) const {
  if (shape.types.destination != DType::f32 && shape.types.destination != shape.types.operand) {
    return "cuBLASLt has no such pair of types";
  }
  // In double: the product of three sizes need not fit 64 bits.
  const double products = static_cast<double>(shape.tokens) * static_cast<double>(shape.rows) *
                          static_cast<double>(shape.columns);
  if (products < static_cast<double>(emulate_below_)) {
    return fmt::format("fewer than {} multiply-adds", emulate_below_);
  }
  if (!operands_are_aligned(table)) return "an operand does not begin on 16 bytes";
  const bool rows_aligned = rows_are_aligned(shape.rows, shape.types.operand);
  const bool columns_aligned = rows_are_aligned(shape.columns, shape.types.operand) &&
                               rows_are_aligned(shape.columns, shape.types.destination);
  if (!rows_aligned || !columns_aligned) return "a leading dimension is no multiple of 16 bytes";
  return "";
}

/// Decided once a shape, and once more for operands that lie badly.
GemmUnit::Way GemmUnit::choose(const GemmShape& shape, const GemmTable& table) {
  auto& ways = operands_are_aligned(table) ? aligned_ways_ : unaligned_ways_;
  const auto found = ways.find(shape);
  if (found != ways.end()) return found->second;
  Way way;
  std::string how;
  if (shape.types.operand == DType::f32) {
    way.exact = true;
    how = "exact sum, rounded once (profile ideal): the operands are fp32";
  } else if (const std::string reason = why_not_library(shape, table); !reason.empty()) {
    how = fmt::format("emulated (profile hopper): {}", reason);
  } else if (const auto algorithm = library_.algorithm_for(shape)) {
    way.by_library = true;
    how = describe(*algorithm);
  } else {
    how = "emulated (profile hopper): cuBLASLt offers no algorithm that leaves K whole without workspace";
  }
  algorithms_.push_back(fmt::format("{}: {}", describe(shape), how));
  return ways.emplace(shape, way).first->second;
}

void GemmUnit::run(const Gemm& gemm, std::span<const GemmRanges> ranks, const Gpu& gpu, cudaStream_t stream) {
  SC_ASSERT(gemm.tokens >= 0 && gemm.rows >= 0 && gemm.columns >= 0, "a GEMM has a negative extent");
  SC_ASSERT(!ranks.empty() && ranks.size() <= kRanksPerLaunch, "a launch takes 1 to 64 ranks");
  const GemmTypes types{ranks[0].dy.dtype, ranks[0].destination.dtype};
  SC_ASSERT(is_float(types.operand) && is_float(types.destination), "a GEMM takes f32, bf16 and f16 only");
  GemmTable table{};
  RankTable destinations{};  // for a fill
  table.tokens = gemm.tokens;
  table.rows = gemm.rows;
  table.columns = gemm.columns;
  table.accumulate = gemm.accumulate;
  for (const GemmRanges& ranges : ranks) {
    check(gemm, ranges);
    SC_ASSERT(ranges.dy.dtype == types.operand && ranges.destination.dtype == types.destination,
              "types differ between ranks");
    table.dy[table.ranks] = ranges.dy.data;
    table.x[table.ranks] = ranges.x.data;
    destinations.numel[table.ranks] = ranges.destination.numel;
    destinations.destination[table.ranks] = table.destination[table.ranks] = ranges.destination.data;
    ++table.ranks;
  }
  if (gemm.rows == 0 || gemm.columns == 0) return;
  if (gemm.tokens == 0) {
    // W9: nothing to add is not an addition of zero, because -0 + 0 would change a byte.
    destinations.ranks = table.ranks;
    if (!gemm.accumulate) launch_fill(destinations, bytes_of(types.destination), 0, stream);
    return;
  }
  const GemmShape shape{gpu.device(), gemm.tokens, gemm.rows, gemm.columns, types, gemm.accumulate};
  const Way way = choose(shape, table);
  if (way.exact) {
    launch_exact_gemm(table, types, stream);
  } else if (way.by_library) {
    library_.launch(shape, table, stream);
  } else {
    launch_hopper_gemm(table, types, stream);
  }
}

}  // namespace shardcheck::gpu
