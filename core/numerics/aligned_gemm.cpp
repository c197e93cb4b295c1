// A GEMM as a tensor core computes it: K in ascending steps, chunks promoted, splits added in order, then the
// epilogue (tensor-core 1). Operands are decoded and packed once; the loops below allocate nothing.
#include "core/numerics/aligned_gemm.h"

#include <bit>
#include <cmath>

#include "core/numerics/aligned_sum.h"
#include "core/numerics/gemm_elements.h"
#include "core/numerics/vector_sums.h"

namespace shardcheck {

using namespace gemm_elements;

namespace {

/// An operand decoded for aligned_step: [panel of `lanes` rows][k][lane]; rows past the end are zero.
struct PackedOperand {
  std::vector<double> value;
  std::vector<std::int32_t> exponent;
};

/// Exponent of a decoded operand: its own for a normal number, the format's smallest for a subnormal one.
std::int32_t operand_exponent(const Format& format, float value) {
  if (value == 0.0f) return kZeroExponent;
  return std::max<std::int32_t>(std::min<std::int32_t>(exponent_of(value), 128), format.smallest_exponent());
}

PackedOperand pack(const OperandView& view, std::int64_t rows, std::int64_t k, std::int64_t lanes) {
  const Format& format = format_of(view.format);
  const OperandReader read(view);
  const auto size = static_cast<std::size_t>(round_up(rows, lanes) * k);
  PackedOperand packed{std::vector<double>(size, 0.0), std::vector<std::int32_t>(size, kZeroExponent)};
  for (std::int64_t panel = 0; panel < rows; panel += lanes) {
    const std::int64_t used = std::min(lanes, rows - panel);
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t lane = 0; lane < used; ++lane) {
        const float value = read(panel + lane, i);
        const auto at = static_cast<std::size_t>(panel * k + i * lanes + lane);
        packed.value[at] = value;
        packed.exponent[at] = operand_exponent(format, value);
      }
    }
  }
  return packed;
}

/// The readable way to sum.
class ReadableSums {
 public:
  ReadableSums(const Accumulator& rule, const GemmProblem& problem)
      : rule_(rule),
        k_(problem.k),
        a_(pack(problem.a, problem.m, problem.k, kLanes)),
        b_(pack(problem.b, problem.n, problem.k, 1)) {}

  /// As VectorSums.
  void sum(std::int64_t row, std::int64_t column, ProductRange range, float* result) const {
    AlignedSums sums;
    for (std::int64_t i = range.begin; i < range.end; i += rule_.products_per_step) {
      const auto count = static_cast<int>(std::min<std::int64_t>(rule_.products_per_step, range.end - i));
      const std::int64_t a = row * k_ + i * kLanes, b = column * k_ + i;
      aligned_step(sums, rule_, count, a_.value.data() + a, a_.exponent.data() + a, b_.value.data() + b,
                   b_.exponent.data() + b);
    }
    std::copy_n(sums.value, kLanes, result);
  }

 private:
  Accumulator rule_;
  std::int64_t k_;
  PackedOperand a_, b_;
};

const Accumulator& accumulator_of(const ArithmeticProfile& profile, const GemmProblem& problem) {
  if (format_of(problem.a.format).width() > 8) return profile.sixteen_bit;
  return problem.fast_accumulation == FastAccumulation::on ? profile.fp8_fast : profile.fp8_promoted;
}

/// kLanes outputs of one column.
struct Tile {
  std::int64_t row;  ///< first row
  std::int64_t column;
};

template <class Sums>
class AlignedGemm {
 public:
  AlignedGemm(const ArithmeticProfile& profile, const GemmProblem& problem)
      : profile_(profile),
        problem_(problem),
        rule_(accumulator_of(profile, problem)),
        sums_(rule_, problem) {}

  void run(std::span<const std::byte> c, std::span<std::byte> d) const {
    for (std::int64_t row = 0; row < problem_.m; row += kLanes) {
      for (std::int64_t column = 0; column < problem_.n; ++column) write({row, column}, c, d);
    }
  }

 private:
  std::int64_t used_lanes(const Tile& tile) const {
    return std::min<std::int64_t>(kLanes, problem_.m - tile.row);
  }

  /// y = promote(y, p) for one chunk sum p: y + p, or with block scales one fma a chunk.
  void promote(const Tile& tile, std::int64_t k_block, const float* chunk, float* y) const {
    if (!is_block_mode(problem_.scale_mode_a)) {
      for (int lane = 0; lane < kLanes; ++lane) y[lane] = y[lane] + chunk[lane];
      return;
    }
    const bool vectors = problem_.scale_mode_a == problem_.scale_mode_b;
    const float sb =
        scale_of(problem_.scale_mode_b, problem_.scales_b, problem_.n, problem_.k, tile.column, k_block);
    for (std::int64_t lane = 0; lane < used_lanes(tile); ++lane) {
      const float p = chunk[lane];
      const float sa = scale_of(problem_.scale_mode_a, problem_.scales_a, problem_.m, problem_.k,
                                tile.row + lane, k_block);
      y[lane] = vectors ? std::fma(p * sb, sa, y[lane]) : std::fma(p, sa * sb, y[lane]);
    }
  }

  /// The accumulator over one range of K.
  void accumulate(const Tile& tile, ProductRange range, float* result) const {
    if (rule_.promotion_interval == 0) {
      sums_.sum(tile.row, tile.column, range, result);
      return;
    }
    std::fill_n(result, kLanes, 0.0f);
    for (std::int64_t i = range.begin; i < range.end; i += rule_.promotion_interval) {
      const ProductRange chunk{i, std::min<std::int64_t>(i + rule_.promotion_interval, range.end)};
      float sums[kLanes];
      sums_.sum(tile.row, tile.column, chunk, sums);
      promote(tile, i / kScaleBlock, sums, result);
    }
  }

  /// All of K: the splits, each from zero, added in fp32 in ascending order.
  void accumulate_splits(const Tile& tile, float* result) const {
    const std::int64_t tiles = div_ceil(problem_.k, profile_.split_tile);
    const std::int64_t step =
        std::max<std::int64_t>(1, div_ceil(tiles, problem_.split_k)) * profile_.split_tile;
    accumulate(tile, {0, std::min(step, problem_.k)}, result);
    for (std::int64_t i = step; i < problem_.k; i += step) {
      float partial[kLanes];
      accumulate(tile, {i, std::min(i + step, problem_.k)}, partial);
      for (int lane = 0; lane < kLanes; ++lane) result[lane] = result[lane] + partial[lane];
    }
  }

  /// z of tensor-core 1: scales in the chip's order. Block scales are already inside.
  /// A zero accumulator gives +0 whatever the signs of its factors: measured on an H200 with alpha = -1.5.
  float scaled(float accumulated, const Tile& tile, std::int64_t lane) const {
    const float z = factored(accumulated, tile, lane);
    return accumulated == 0 && z == 0 ? 0.0f : z;
  }

  float factored(float accumulated, const Tile& tile, std::int64_t lane) const {
    const auto scale_a = [&] {
      return scale_of(problem_.scale_mode_a, problem_.scales_a, problem_.m, problem_.k, tile.row + lane, 0);
    };
    const auto scale_b = [&] {
      return scale_of(problem_.scale_mode_b, problem_.scales_b, problem_.n, problem_.k, tile.column, 0);
    };
    switch (problem_.scale_mode_a) {
      case ScaleMode::tensor: return accumulated * (problem_.alpha * scale_a() * scale_b());
      case ScaleMode::outer_vector: return accumulated * scale_a() * scale_b() * problem_.alpha;
      default: return problem_.alpha * accumulated;
    }
  }

  std::uint32_t finished(float z, std::int64_t index, std::span<const std::byte> c) const {
    const DType output = problem_.output;
    if (problem_.beta == GemmBeta::zero) return code_of(output, z);
    const bool two_roundings = profile_.narrow_accumulation == NarrowAccumulation::round_product_then_sum;
    const float product = two_roundings ? rounded_to(output, z) : z;
    // Two 16-bit numbers added in fp32 and then rounded: 24 >= 2 * 11 + 2 significant bits, so the two
    // roundings of the sum give what one would.
    return code_of(output, product + read_value(output, c, index));
  }

  void write(const Tile& tile, std::span<const std::byte> c, std::span<std::byte> d) const {
    float accumulated[kLanes];
    accumulate_splits(tile, accumulated);
    for (std::int64_t lane = 0; lane < used_lanes(tile); ++lane) {
      const std::int64_t index = tile.column * problem_.m + tile.row + lane;
      write_code(problem_.output, d, index, finished(scaled(accumulated[lane], tile, lane), index, c));
    }
  }

  const ArithmeticProfile& profile_;
  const GemmProblem& problem_;
  const Accumulator& rule_;
  Sums sums_;
};

}  // namespace

void aligned_gemm(const ArithmeticProfile& profile, const GemmProblem& problem, std::span<const std::byte> c,
                  std::span<std::byte> d) {
  if (VectorSums::can_hold(accumulator_of(profile, problem), problem)) {
    AlignedGemm<VectorSums>(profile, problem).run(c, d);
  } else {
    readable_aligned_gemm(profile, problem, c, d);
  }
}

void readable_aligned_gemm(const ArithmeticProfile& profile, const GemmProblem& problem,
                           std::span<const std::byte> c, std::span<std::byte> d) {
  AlignedGemm<ReadableSums>(profile, problem).run(c, d);
}

}  // namespace shardcheck
