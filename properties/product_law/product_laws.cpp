#include "properties/product_law/product_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "core/assert.h"
#include "core/integers.h"
#include "core/numerics/bounds.h"
#include "core/numerics/encode.h"
#include "core/numerics/same_code.h"
#include "properties/gemm_law/gemm_law.h"
#include "properties/product_law/product_bound.h"

namespace shardcheck {
namespace {

using Verdict = std::optional<std::string>;
using Bytes = std::vector<std::byte>;

const Format& format_in(DType type) {
  return format_of(*format_id_of(type));
}

/// A law at work: the GEMM as it is asked, its numbers, its product.
struct Subject {
  const ProductQuestion& q;
  const ProductMachine& machine;
  GemmCase c;
  GemmInputs inputs;
  Bytes d;

  double number(const Bytes& bytes, std::int64_t index) const {
    return value_of_code(c.d, code_at(c.d, bytes, index));
  }
  std::int64_t outputs() const { return c.op.m * c.op.n; }
  std::string place(std::int64_t index) const {
    return fmt::format("row {}, column {}", index % c.op.m, index / c.op.m);
  }
  std::int64_t chosen_row() const { return q.row % c.op.m; }
};

/// The sum of an output in double: exact for integers, else with an error below K 2^-53 of the sum of
/// magnitudes.
double sum_of(Subject& s, std::int64_t index) {
  const OperandCodes a = operand_a(s.c, s.inputs), b = operand_b(s.c, s.inputs);
  double sum = 0;
  for (std::int64_t i = 0; i < s.c.op.k; ++i)
    sum +=
        value_of_code(a.type, a.get(index % s.c.op.m, i)) * value_of_code(b.type, b.get(index / s.c.op.m, i));
  return sum;
}

/// F57.
Verdict is_exact(Subject& s) {
  for (std::int64_t i = 0; i < s.outputs(); ++i) {
    const auto exact = static_cast<float>(sum_of(s, i));
    const std::uint32_t code = encode(format_in(s.c.d), kIeee, std::bit_cast<std::uint32_t>(exact));
    const double expected = value_of_code(s.c.d, code);
    if (s.number(s.d, i) != expected)
      return fmt::format("{}: {}, and the sum of small integers is {}", s.place(i), s.number(s.d, i),
                         expected);
  }
  return std::nullopt;
}

/// F58.
Verdict is_bounded(Subject& s) {
  const auto outputs = bounded_outputs(s.machine.profile(), s.c, s.inputs);
  for (std::int64_t i = 0; i < s.outputs(); ++i) {
    const BoundedOutput& output = outputs[static_cast<std::size_t>(i)];
    const double actual = s.number(s.d, i);
    if (output.overflows || std::abs(actual - output.exact) <= output.bound) continue;
    return fmt::format("{}: {} is {:.4g} from the exact {}, and the bound is {:.4g}", s.place(i), actual,
                       std::abs(actual - output.exact), output.exact, output.bound);
  }
  return std::nullopt;
}

/// Normal and finite.
bool is_normal(const Format& format, double number) {
  return std::abs(number) >= std::ldexp(1.0, format.smallest_exponent()) && std::isfinite(number);
}

/// Whether an output of one product may be another's times 2^power. One that left the normal range, or is
/// zero because it underflowed, says nothing; 2^8 does not lift it back.
bool is_scaled(DType type, double before, double after, int power) {
  const Format& format = format_in(type);
  if (before == 0) return !is_normal(format, after);
  const double expected = std::ldexp(before, power);
  const bool overflows = std::abs(expected) > value_of_code(type, format.max_code);
  return !is_normal(format, before) || !is_normal(format, expected) || overflows || after == expected;
}

/// F59: outputs that neither overflow nor leave the normal range of their type.
Verdict scales_exactly(Subject& s) {
  if (s.c.op.scales_a == ScaleKind::none) return std::nullopt;
  for (const auto scales : {&GemmInputs::scales_a, &GemmInputs::scales_b}) {
    for (const int power : {s.q.power, -s.q.power}) {
      GemmInputs changed = s.inputs;
      for (float& scale : changed.*scales) scale = std::ldexp(scale, power);
      const Bytes d = s.machine.product(s.c, changed);
      for (std::int64_t i = 0; i < s.outputs(); ++i) {
        const double before = s.number(s.d, i), after = s.number(d, i);
        if (!is_scaled(s.c.d, before, after, power))
          return fmt::format("{}: {}, and {} with the scales of {} times 2^{}", s.place(i), before, after,
                             scales == &GemmInputs::scales_a ? "A" : "B", power);
      }
    }
  }
  return std::nullopt;
}

/// F60. Rounding to nearest keeps order, so that what is below the exact sum is below the rounded one.
Verdict never_overshoots(Subject& s) {
  for (std::int64_t i = 0; i < s.outputs(); ++i) {
    const double above = sum_of(s, i) * (1 + static_cast<double>(s.c.op.k) * 0x1p-52);
    const double limit = static_cast<double>(static_cast<float>(above)), actual = s.number(s.d, i);
    if (!(actual >= 0 && actual <= limit))
      return fmt::format("{}: {} exceeds the exact sum {}", s.place(i), actual, limit);
  }
  return std::nullopt;
}

/// Rows of A, of its scales and of C, the row r + by in the place of row r.
GemmInputs rotated(const Subject& s, std::int64_t by) {
  GemmInputs to = s.inputs, from = s.inputs;
  const OperandCodes source = operand_a(s.c, from), target = operand_a(s.c, to);
  const auto size = static_cast<std::size_t>(bytes_of(s.c.d));
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t r = 0; r < s.c.op.m; ++r) {
    const std::int64_t other = (r + by) % s.c.op.m;
    for (std::int64_t i = 0; i < s.c.op.k; ++i) target.set(r, i, source.get(other, i));
    if (s.c.op.scales_a == ScaleKind::outer_vector) to.scales_a[at(r)] = from.scales_a[at(other)];
    if (s.c.op.scales_a == ScaleKind::vector128) {
      const std::int64_t pitch = round_up(s.c.op.m, std::int64_t{4});
      for (std::int64_t line = 0; line < std::ssize(from.scales_a); line += pitch)
        to.scales_a[at(line + r)] = from.scales_a[at(line + other)];
    }
    for (std::int64_t column = 0; column < s.c.op.n; ++column)
      std::copy_n(from.c.begin() + static_cast<std::ptrdiff_t>(at(column * s.c.op.m + other) * size), size,
                  to.c.begin() + static_cast<std::ptrdiff_t>(at(column * s.c.op.m + r) * size));
  }
  return to;
}

std::uint32_t code_of_output(const Subject& s, const Bytes& d, std::int64_t row, std::int64_t column) {
  return canonical_code(s.c.d, code_at(s.c.d, d, column * s.c.op.m + row));
}

/// The case with a NaN in one row of A.
GemmInputs with_nan(const Subject& s, std::int64_t row) {
  GemmInputs inputs = s.inputs;
  const OperandCodes a = operand_a(s.c, inputs);
  a.set(row, s.q.row % s.c.op.k, format_in(s.c.a).quiet_nan_code);
  return inputs;
}

/// F61.
Verdict rows_are_independent(Subject& s) {
  const std::int64_t by = s.chosen_row();
  const Bytes permuted = s.machine.product(s.c, rotated(s, by));
  const Bytes poisoned = s.machine.product(s.c, with_nan(s, by));
  for (std::int64_t column = 0; column < s.c.op.n; ++column) {
    for (std::int64_t row = 0; row < s.c.op.m; ++row) {
      const std::uint32_t code = code_of_output(s, s.d, (row + by) % s.c.op.m, column);
      if (code_of_output(s, permuted, row, column) != code)
        return fmt::format("rows rotated by {}: the output of row {}, column {} is another one", by,
                           (row + by) % s.c.op.m, column);
      if (row != by && code_of_output(s, poisoned, row, column) != code_of_output(s, s.d, row, column))
        return fmt::format("a NaN in row {} changes row {}, column {}", by, row, column);
    }
  }
  return std::nullopt;
}

/// F62: NaN, and infinity times zero where A has infinity.
Verdict specials_arrive(Subject& s) {
  const std::int64_t row = s.chosen_row(), place = s.q.row % s.c.op.k;
  const Bytes d = s.machine.product(s.c, with_nan(s, row));
  for (std::int64_t column = 0; column < s.c.op.n; ++column) {
    if (const double actual = s.number(d, column * s.c.op.m + row); !std::isnan(actual))
      return fmt::format("a NaN in row {} of A gives {} in column {}", row, actual, column);
  }
  if (!format_in(s.c.a).has_infinity()) return std::nullopt;
  GemmInputs inputs = s.inputs;
  operand_a(s.c, inputs).set(row, place, format_in(s.c.a).infinity_code);
  operand_b(s.c, inputs).set(0, place, 0);
  const double actual = s.number(s.machine.product(s.c, inputs), row);
  if (!std::isnan(actual)) return fmt::format("infinity in row {} times zero gives {}", row, actual);
  return std::nullopt;
}

/// F63, beta = 0: C does not matter.
Verdict ignores_c(Subject& s, const GemmCase& overwriting) {
  GemmInputs zeros = s.inputs, nans = s.inputs;
  std::ranges::fill(zeros.c, std::byte{0});
  std::ranges::fill(nans.c, std::byte{0xff});  // a NaN of every output type
  const Bytes a = s.machine.product(overwriting, zeros), b = s.machine.product(overwriting, nans);
  const Differing found = differing(s.c.d, {a, b});
  if (found.count == 0) return std::nullopt;
  return fmt::format("{}: {} over zeros and {} over NaN, although beta is 0", s.place(found.first),
                     s.number(a, found.first), s.number(b, found.first));
}

/// F63, beta = 1: C is added once, with the roundings of fp8 6.4 and no others: the product's to fp32 and to
/// the output, the sum's to both.
Verdict adds_c(Subject& s, GemmCase overwriting) {
  overwriting.d = DType::f32;
  GemmInputs inputs = s.inputs;
  inputs.c.assign(static_cast<std::size_t>(s.outputs()) * 4, std::byte{0});
  const Bytes z = s.machine.product(overwriting, inputs);
  const double u = unit_roundoff(s.c.d), wide = unit_roundoff(DType::f32);
  const Format& format = format_in(s.c.d);
  const double largest = value_of_code(s.c.d, format.max_code);
  const double underflow = std::ldexp(1.0, format.smallest_exponent() - format.mantissa_bits);
  for (std::int64_t i = 0; i < s.outputs(); ++i) {
    const double product = value_of_code(DType::f32, code_at(DType::f32, z, i)), c = s.number(s.inputs.c, i);
    const double exact = product + c, actual = s.number(s.d, i);
    const double of_product = (u + wide) * (1 + u) * std::abs(product) + underflow;
    const double bound = of_product + (u + wide) * (1 + u) * (std::abs(exact) + of_product) + underflow;
    if (std::abs(exact) + bound >= largest || !std::isfinite(product) ||
        std::abs(product) * (1 + u) >= largest)
      continue;
    if (!(std::abs(actual - exact) <= bound))
      return fmt::format("{}: {}, and the product {} and C {} are {}", s.place(i), actual, product, c, exact);
  }
  return std::nullopt;
}

Verdict beta_is_right(Subject& s) {
  GemmCase overwriting = s.c;
  overwriting.op.accumulate = false;
  if (auto broken = ignores_c(s, overwriting)) return broken;
  return s.c.op.accumulate ? adds_c(s, overwriting) : std::nullopt;
}

/// F64.
Verdict narrows_by_its_scale(Subject& s) {
  std::vector<float> values(static_cast<std::size_t>(s.outputs()));
  std::memcpy(values.data(), s.d.data(), s.d.size());
  const float scale = std::ldexp(1.25f, s.q.power);
  const NarrowOutput expected = narrow_by_law(values, scale), actual = s.machine.narrowed(values, scale);
  if (actual.codes.empty()) return std::nullopt;
  if (actual.amax != expected.amax)
    return fmt::format("the amax of D is {}, and the largest magnitude before d_scale {} is {}", actual.amax,
                       scale, expected.amax);
  const Differing found = differing(DType::e4m3, {expected.codes, actual.codes});
  if (found.count == 0) return std::nullopt;
  const auto at = static_cast<std::size_t>(found.first);
  return fmt::format(
      "{}: {} by d_scale {} becomes {:#04x}, and {:#04x} is the code of the product of the two",
      s.place(found.first), values[at], scale, static_cast<int>(actual.codes[at]),
      static_cast<int>(expected.codes[at]));
}

/// F65: zeros up to the next whole step, which stays within the last chunk.
Verdict ignores_zeros(Subject& s) {
  const std::int64_t step = bytes_of(s.c.a) == 1 ? 32 : 16;
  GemmCase longer = s.c;
  longer.op.k = round_up(s.c.op.k, step);
  if (longer.op.k == s.c.op.k) return std::nullopt;
  GemmInputs inputs = s.inputs, source = s.inputs;
  inputs.a.assign(static_cast<std::size_t>(longer.op.m * longer.op.k * bytes_of(s.c.a)), std::byte{0});
  inputs.b.assign(static_cast<std::size_t>(longer.op.n * longer.op.k * bytes_of(s.c.b)), std::byte{0});
  const auto copy = [&](const OperandCodes& from, const OperandCodes& to) {
    for (std::int64_t row = 0; row < from.rows; ++row) {
      for (std::int64_t i = 0; i < from.k; ++i) to.set(row, i, from.get(row, i));
    }
  };
  copy(operand_a(s.c, source), operand_a(longer, inputs));
  copy(operand_b(s.c, source), operand_b(longer, inputs));
  const Bytes d = s.machine.product(longer, inputs);
  const Differing found = differing(s.c.d, {s.d, d});
  if (found.count == 0) return std::nullopt;
  return fmt::format("{}: {} with K = {} and {} with zeros up to {}", s.place(found.first),
                     s.number(s.d, found.first), s.c.op.k, s.number(d, found.first), longer.op.k);
}

/// F66.
Verdict equals_profile(Subject& s) {
  if (s.machine.profile() == nullptr) return std::nullopt;
  const Bytes expected = gemm_by_profile(*s.machine.profile(), s.c, s.inputs);
  const Differing found = differing(s.c.d, {expected, s.d});
  if (found.count == 0) return std::nullopt;
  return fmt::format("{}: {}, and profile {} says {}", s.place(found.first), s.number(s.d, found.first),
                     s.machine.profile()->name, s.number(expected, found.first));
}

Verdict judged(Subject& s) {
  switch (s.q.law) {
    case ProductLaw::exact_window: return is_exact(s);
    case ProductLaw::bound: return is_bounded(s);
    case ProductLaw::scaled: return scales_exactly(s);
    case ProductLaw::one_signed: return never_overshoots(s);
    case ProductLaw::independent: return rows_are_independent(s);
    case ProductLaw::special: return specials_arrive(s);
    case ProductLaw::beta: return beta_is_right(s);
    case ProductLaw::narrow_output: return narrows_by_its_scale(s);
    case ProductLaw::padded: return ignores_zeros(s);
    case ProductLaw::equals_profile: return equals_profile(s);
  }
  assertion_failed("law", "an unnamed law of products");
}

}  // namespace

bool is_asked(const ProductQuestion& q, const ProductMachine& machine) {
  return machine.profile() == nullptr || !unsupported_reason(*machine.profile(), as_asked(q));
}

std::vector<Finding> judge_product_law(const ProductQuestion& q, const ProductMachine& machine) {
  if (!is_asked(q, machine)) return {};
  Subject s{q, machine, as_asked(q), {}, {}};
  s.inputs = numbers_of(q, s.c);
  s.d = machine.product(s.c, s.inputs);
  if (s.d.empty()) return {};  // another process has it
  const Verdict broken = judged(s);
  if (!broken) return {};
  return {Finding{.clause = std::string(clause_of(q.law)),
                  .sentence = fmt::format("GEMM {}: {}", describe(s.c), *broken)}};
}

}  // namespace shardcheck
