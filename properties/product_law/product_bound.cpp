// Derivation, fp8 6.4. A step aligns its terms and the accumulator c to a grid of 2^(E-F), E the largest of
// the products' unnormalised exponents and of c's own; so 2^E <= H = max(G, P'), G the largest 2^(ea+eb) of
// the step and P' the sum of |t| before it, because truncation never increases |c|. Each term loses at most
// itself or one grid step, c one grid step, and the cut of the result to P bits at most 2^-P of it.
#include "properties/product_law/product_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/integers.h"
#include "core/numerics/bounds.h"
#include "core/numerics/decode.h"
#include "core/numerics/gemm.h"
#include "core/numerics/same_code.h"
#include "properties/product_law/product_case.h"

namespace shardcheck {
namespace {

constexpr double kF32 = 0x1p-24;
constexpr std::int64_t kChunk = 128;  ///< of block scales

bool is_block(ScaleKind kind) {
  return kind == ScaleKind::vector128 || kind == ScaleKind::block128x128;
}

/// Numbers of one row and what their exponents count.
struct Row {
  std::vector<double> value;
  std::vector<double> grid;  ///< 2^e, e unnormalised: at least the format's smallest
};
std::vector<Row> rows_of(const OperandCodes& operand) {
  const Format& format = format_of(*format_id_of(operand.type));
  std::vector<Row> rows(static_cast<std::size_t>(operand.rows));
  for (std::int64_t r = 0; r < operand.rows; ++r) {
    for (std::int64_t i = 0; i < operand.k; ++i) {
      const auto value = static_cast<double>(decode(format, operand.get(r, i)));
      const int exponent = value == 0 ? 0 : std::max(std::ilogb(value), format.smallest_exponent());
      rows[static_cast<std::size_t>(r)].value.push_back(value);
      rows[static_cast<std::size_t>(r)].grid.push_back(std::ldexp(1.0, exponent));
    }
  }
  return rows;
}

/// A part of K that is accumulated from zero.
struct Part {
  double exact = 0, magnitude = 0, bound = 0;
};

Part part_of(const Accumulator& rule, const Row& a, const Row& b, std::int64_t begin, std::int64_t end) {
  const double per_grid = std::ldexp(1.0, -rule.alignment_bits),
               per_result = std::ldexp(1.0, -rule.kept_bits);
  Part part;
  for (std::int64_t step = begin; step < end; step += rule.products_per_step) {
    const std::int64_t stop = std::min<std::int64_t>(step + rule.products_per_step, end);
    const auto each = [&](auto visit) {
      for (auto i = static_cast<std::size_t>(step); i < static_cast<std::size_t>(stop); ++i) {
        const double t = a.value[i] * b.value[i];
        if (t != 0) visit(t, a.grid[i] * b.grid[i]);
      }
    };
    double largest = part.magnitude;  // H
    each([&](double, double grid) { largest = std::max(largest, grid); });
    each([&](double t, double) {
      part.bound += std::min(std::abs(t), per_grid * largest);
      part.exact += t;
      part.magnitude += std::abs(t);
    });
    part.bound += per_grid * largest + per_result * part.magnitude + 0x1p-149;  // fp32's smallest number
  }
  return part;
}

float scale_at(ScaleKind kind, std::span<const float> scales, std::int64_t rows, std::int64_t k,
               std::int64_t row, std::int64_t k_block) {
  switch (kind) {
    case ScaleKind::none: return 1;
    case ScaleKind::tensor: return scales[0];
    case ScaleKind::outer_vector: return scales[static_cast<std::size_t>(row)];
    case ScaleKind::vector128:
      return scales[static_cast<std::size_t>(k_block * round_up(rows, std::int64_t{4}) + row)];
    case ScaleKind::block128x128:
      return scales[static_cast<std::size_t>(row / kChunk * round_up(div_ceil(k, kChunk), std::int64_t{4}) +
                                             k_block)];
  }
  return 1;
}

/// Largest number of a type, its unit roundoff, half of its smallest number.
struct OutputType {
  double largest, roundoff, underflow;
};
OutputType type_of(DType type) {
  const Format& format = format_of(*format_id_of(type));
  return {static_cast<double>(decode(format, format.max_code)), unit_roundoff(type),
          std::ldexp(1.0, format.smallest_exponent() - format.mantissa_bits - 1)};
}

class Bounds {
 public:
  Bounds(const ArithmeticProfile& profile, const GemmCase& c, GemmInputs& inputs)
      : c_(c),
        inputs_(inputs),
        rule_(bytes_of(c.a) > 1        ? profile.sixteen_bit
              : c.op.fast_accumulation ? profile.fp8_fast
                                       : profile.fp8_promoted),
        a_(rows_of(operand_a(c, inputs))),
        b_(rows_of(operand_b(c, inputs))) {}

  BoundedOutput at(std::int64_t row, std::int64_t column) const {
    return finished(scaled(row, column), row + column * c_.op.m);
  }

 private:
  double scale(std::int64_t row, std::int64_t column, std::int64_t k_block) const {
    const float a = scale_at(c_.op.scales_a, inputs_.scales_a, c_.op.m, c_.op.k, row, k_block);
    const float b = scale_at(c_.op.scales_b, inputs_.scales_b, c_.op.n, c_.op.k, column, k_block);
    return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c_.op.alpha);
  }

  /// z before C: sums of chunks, each with its scale.
  BoundedOutput scaled(std::int64_t row, std::int64_t column) const {
    const Row &a = a_[static_cast<std::size_t>(row)], &b = b_[static_cast<std::size_t>(column)];
    const bool blocks = is_block(c_.op.scales_a);
    const std::int64_t interval = rule_.promotion_interval != 0 ? rule_.promotion_interval : c_.op.k;
    const double roundings = std::pow(1 + kF32, 3) - 1;  // the scales: at most three
    BoundedOutput z;
    double magnitude = 0, promoted = 0;  // sums of |scaled t|
    std::int64_t chunks = 0;
    for (std::int64_t begin = 0; begin < c_.op.k; begin += interval, ++chunks) {
      const Part part = part_of(rule_, a, b, begin, std::min(begin + interval, c_.op.k));
      const double factor = scale(row, column, blocks ? begin / kChunk : 0);
      z.exact += factor * part.exact;
      z.bound += std::abs(factor) * part.bound * (1 + roundings);
      magnitude += std::abs(factor) * part.magnitude;
      promoted += magnitude;
    }
    if (rule_.promotion_interval != 0)
      z.bound += kF32 * (blocks ? static_cast<double>(chunks) * magnitude : promoted);
    z.bound += roundings * magnitude + 0x1p-149 * static_cast<double>(chunks + 3);
    z.bound += static_cast<double>(c_.op.k + 8) * 0x1p-52 * magnitude;  // of the sums in double
    return z;
  }

  BoundedOutput finished(BoundedOutput z, std::int64_t index) const {
    const OutputType type = type_of(c_.d), wide = type_of(DType::f32);
    if (std::abs(z.exact) + z.bound >= wide.largest) z.overflows = true;
    const auto round = [&](const OutputType& to) {
      z.bound += to.roundoff * (std::abs(z.exact) + z.bound) + to.underflow;
      if (std::abs(z.exact) + z.bound > to.largest) z.overflows = true;
    };
    if (c_.d != DType::f32) round(type);
    if (!c_.op.accumulate) return z;
    z.exact += value_of_code(c_.d, code_at(c_.d, inputs_.c, index));
    z.bound += std::abs(z.exact) * 0x1p-52;
    round(wide);
    if (c_.d != DType::f32) round(type);
    return z;
  }

  const GemmCase& c_;
  const GemmInputs& inputs_;
  const Accumulator& rule_;
  std::vector<Row> a_, b_;
};

}  // namespace

std::vector<BoundedOutput> bounded_outputs(const ArithmeticProfile* profile, const GemmCase& c,
                                           GemmInputs inputs) {
  const bool has_accumulators = profile != nullptr && profile->summation == Summation::aligned;
  const Bounds bounds(has_accumulators ? *profile : kHopper, c, inputs);
  std::vector<BoundedOutput> outputs;
  for (std::int64_t column = 0; column < c.op.n; ++column) {
    for (std::int64_t row = 0; row < c.op.m; ++row) outputs.push_back(bounds.at(row, column));
  }
  return outputs;
}

}  // namespace shardcheck
