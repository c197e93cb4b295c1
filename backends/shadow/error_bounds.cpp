#include "backends/shadow/error_bounds.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/assert.h"
#include "core/numerics/bounds.h"
#include "core/numerics/narrow.h"
#include "core/numerics/same_code.h"

namespace shardcheck::shadowing {
namespace {

const Format& format_of_numbers(DType type) {
  const auto id = format_id_of(type);
  SC_ASSERT(id.has_value(), "bytes have no arithmetic");
  return format_of(*id);
}
double largest(DType type) {
  return value_of_code(type, format_of_numbers(type).max_code);
}
double smallest_normal(DType type) {
  return std::ldexp(1.0, format_of_numbers(type).smallest_exponent());
}
/// The most that one rounding loses to underflow.
double half_smallest(DType type) {
  return value_of_code(type, 1) / 2;
}

/// n roundings of fp32 and m of `type`, which may be fp32 too.
struct Roundings {
  std::int64_t f32, of_type;
};
double growth_of(DType type, Roundings n) {
  switch (type) {
    case DType::f32: return growth({.f32 = n.f32 + n.of_type, .bf16 = 0, .f16 = 0});
    case DType::bf16: return growth({.f32 = n.f32, .bf16 = n.of_type, .f16 = 0});
    case DType::f16: return growth({.f32 = n.f32, .bf16 = 0, .f16 = n.of_type});
    default: SC_ASSERT(false, "no sum is rounded to a type of one byte");
  }
  return 0;
}

std::vector<double> magnitudes(DType type, std::span<const std::byte> bytes, double least) {
  std::vector<double> values(bytes.size() / static_cast<std::size_t>(bytes_of(type)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = std::abs(value_of_code(type, code_at(type, bytes, static_cast<std::int64_t>(i))));
    values[i] = value == 0 ? 0 : std::isnan(value) ? value : std::max(value, least);
  }
  return values;
}

/// P, Q and A of the inequality.
struct Growths {
  double product, content, underflow;
};

Growths growths_of(const GemmOperands& o, const std::string& profile) {
  const auto tokens = static_cast<double>(o.gemm.tokens);
  const bool is_wide = o.output == DType::f32, adds = o.gemm.accumulate;
  if (profile == "ideal") {
    const double once = growth_of(o.output, {0, 1});
    return {once, once, half_smallest(o.output)};
  }
  const double step = 0x1p-22 + 0x1p-23;  // 2^(1-t) + 2^-23
  const double accumulation = o.operand == DType::f32 ? growth_of(DType::f32, {o.gemm.tokens, 0})
                                                      : std::expm1(tokens * step) * (1 + 0x1p-39);
  const double store =
      is_wide ? growth_of(o.output, {0, adds ? 1 : 0}) : growth_of(o.output, {adds ? 1 : 0, adds ? 2 : 1});
  const double content = is_wide ? growth_of(o.output, {1, 0}) : growth_of(o.output, {1, 1});
  const double product = ((1 + accumulation) * (1 + store) - 1) * (1 + 0x1p-39);
  // A step: n + 1 terms cut below 2^-126, the exponent of a subnormal accumulator, and a result cut to a
  // multiple of 2^-149: 3 K 2^-149 in all. A cast loses half a smallest number of its type.
  const double casts = is_wide ? 0 : 2 * half_smallest(o.output);
  return {product, content, (3 * tokens * 0x1p-149 + casts) * (1 + product)};
}

/// Products of fp32 numbers are exact in double; K additions of positive doubles lose at most K 2^-53.
double slack(std::int64_t terms) {
  return 1 + static_cast<double>(terms + 2) * 0x1p-52;
}

double or_infinite(double bound, double reach, DType type) {
  return reach + bound >= largest(type) ? std::numeric_limits<double>::infinity() : bound;
}

std::vector<double> gemm_bounds_of(Operands& operands, std::size_t position, const Sides& sides) {
  const auto& gemm = std::get<Gemm>(operands.op().action);
  const auto dy = operands.bytes({0, position}), x = operands.bytes({1, position});
  const auto old = gemm.accumulate ? operands.bytes({2, position}) : std::vector<std::byte>{};
  SC_ASSERT(dy && x && old, "a bounded op kept all that it overwrites");
  const GemmOperands all{gemm, operands.type({0, position}), operands.type({2, position}), *dy, *x, *old};
  std::vector<double> bounds = gemm_bound(all, sides.reference.profile);
  const std::vector<double> others = gemm_bound(all, sides.candidate.profile);
  for (std::size_t i = 0; i < bounds.size(); ++i) bounds[i] += others[i];
  return bounds;
}

std::vector<double> reduction_bounds_of(Operands& operands, std::size_t position) {
  const auto& communicate = std::get<Communicate>(operands.op().action);
  const auto size = static_cast<std::size_t>(communicate.group);
  const std::size_t first = position - position % size;
  const View out = operands.view({1, position});
  const bool scatters = communicate.collective == Collective::reduce_scatter;
  const auto begin = scatters ? static_cast<std::int64_t>(position % size) * out.numel : 0;
  const DType type = operands.type({0, position});
  std::vector<std::vector<std::byte>> inputs;
  for (std::size_t i = first; i < first + size; ++i) {
    auto input = operands.bytes({0, i});
    SC_ASSERT(input.has_value(), "a bounded op kept all that it overwrites");
    inputs.push_back(std::move(*input));
  }
  std::vector<double> bounds, values(size);
  for (std::int64_t e = 0; e < out.numel; ++e) {
    for (std::size_t i = 0; i < size; ++i)
      values[i] = value_of_code(type, code_at(type, inputs[i], begin + e));
    bounds.push_back(2 * sum_bound(values, {type, communicate.reduction}));
  }
  return bounds;
}

}  // namespace

std::vector<double> gemm_bound(const GemmOperands& o, const std::string& profile) {
  const Growths growths = growths_of(o, profile);
  const bool aligns = profile != "ideal" && o.operand != DType::f32;
  const double least = aligns ? smallest_normal(o.operand) : 0;
  const std::vector<double> dy = magnitudes(o.operand, o.dy, least), x = magnitudes(o.operand, o.x, least);
  const auto rows = static_cast<std::size_t>(o.gemm.rows), columns = static_cast<std::size_t>(o.gemm.columns);
  std::vector<double> bounds(rows * columns, 0);
  for (std::size_t t = 0; t < static_cast<std::size_t>(o.gemm.tokens); ++t) {
    for (std::size_t row = 0; row < rows; ++row) {
      const double a = dy[t * rows + row];
      for (std::size_t column = 0; column < columns; ++column)
        bounds[row * columns + column] += a * x[t * columns + column];
    }
  }
  const std::vector<double> old =
      o.gemm.accumulate ? magnitudes(o.output, o.destination, 0) : std::vector<double>(bounds.size(), 0);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const double all = bounds[i] * slack(o.gemm.tokens);
    if (!std::isfinite(all) || !std::isfinite(old[i])) {
      bounds[i] = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    const double bound = growths.product * all + growths.content * old[i] + growths.underflow;
    bounds[i] = or_infinite(bound * (1 + 0x1p-39), all + old[i], o.output);
  }
  return bounds;
}

double sum_bound(std::span<const double> values, const SumOfRanks& sum) {
  const auto count = std::ssize(values);
  const bool averages = sum.reduction == Reduction::average;
  // 1/R is rounded to the type before it multiplies (wgrad 8.3), alike on both sides. At most 1.
  const double factor = averages ? (1 + unit_roundoff(sum.type)) / static_cast<double>(count) : 1;
  double all = 0;
  for (const double value : values) all += std::abs(value);
  all *= factor * slack(count);
  if (!std::isfinite(all)) return std::numeric_limits<double>::quiet_NaN();
  const double grown = growth_of(sum.type, {0, count - 1 + (averages ? 1 : 0)});
  const double underflow = averages ? static_cast<double>(count) * half_smallest(sum.type) * (1 + grown) : 0;
  return or_infinite((grown * all + underflow) * (1 + 0x1p-39), all, sum.type);
}

std::vector<double> bounds_of(Operands& operands, std::size_t position, const Sides& sides) {
  return std::holds_alternative<Gemm>(operands.op().action) ? gemm_bounds_of(operands, position, sides)
                                                            : reduction_bounds_of(operands, position);
}

}  // namespace shardcheck::shadowing
