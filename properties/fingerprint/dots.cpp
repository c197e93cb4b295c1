#include "properties/fingerprint/dots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "core/assert.h"
#include "core/numerics/format.h"
#include "properties/fingerprint/one_op.h"

namespace shardcheck {
namespace {

const Format& format_in(DType type) {
  return format_of(*format_id_of(type));
}

bool is_fp8(DType type) {
  return type == DType::e4m3 || type == DType::e5m2;
}

/// Exponents of the normal numbers of a type.
ExponentRange normal(const Format& format) {
  return {format.smallest_exponent(),
          static_cast<int>(format.max_code >> format.mantissa_bits) - format.bias};
}

/// Where element (row, k) of an operand lies.
std::size_t place(GemmOp op, std::size_t row, std::int64_t k, std::int64_t all_k) {
  const auto at = op == GemmOp::matmul ? static_cast<std::int64_t>(row) * all_k + k
                                       : k * kDotsAtOnce + static_cast<std::int64_t>(row);
  return static_cast<std::size_t>(at);
}

Action action_of(const DotRule& rule, const DotSetting& setting) {
  const bool accumulate = !setting.c.empty();
  if (rule.op == GemmOp::wgrad) return Gemm{setting.k, kDotsAtOnce, kDotsAtOnce, accumulate};
  const ScaleKind scales = is_fp8(rule.a) ? ScaleKind::tensor : ScaleKind::none;
  return Matmul{.m = kDotsAtOnce,
                .n = kDotsAtOnce,
                .k = setting.k,
                .scales_a = scales,
                .scales_b = scales,
                .fast_accumulation = rule.fast_accumulation,
                .accumulate = accumulate,
                .alpha = setting.alpha};
}

}  // namespace

std::string describe(const DotRule& rule) {
  std::string text = fmt::format("{} x {}", name_of(rule.a), name_of(rule.b));
  if (rule.d != DType::f32) text += fmt::format(" -> {}", name_of(rule.d));
  if (rule.op == GemmOp::wgrad) return text + ", wgrad";
  if (is_fp8(rule.a)) return text + (rule.fast_accumulation ? ", fast" : ", promoted");
  return text;
}

std::vector<std::uint32_t> multiply(Backend& backend, const DotRule& rule, std::span<const Dot> dots,
                                    const DotSetting& setting) {
  SC_ASSERT(std::ssize(dots) <= kDotsAtOnce, "too many dot products at once");
  SC_ASSERT(rule.op == GemmOp::matmul || setting.alpha == 1, "a wgrad has no alpha");
  constexpr auto kWidth = static_cast<std::size_t>(kDotsAtOnce);
  std::vector<std::uint32_t> a(kWidth * static_cast<std::size_t>(setting.k)), b(a.size());
  std::vector<std::uint32_t> d(kWidth * kWidth);
  for (std::size_t i = 0; i < dots.size(); ++i) {
    for (const Term& term : dots[i]) {
      SC_ASSERT(term.k >= 0 && term.k < setting.k, "a term lies outside K");
      a[place(rule.op, i, term.k, setting.k)] = term.a;
      b[place(rule.op, i, term.k, setting.k)] = term.b;
    }
    if (i < setting.c.size()) d[i * kWidth + i] = setting.c[i];
  }
  const std::array one = {std::bit_cast<std::uint32_t>(1.0f)};
  std::vector<OpOperand> operands = {on_one_rank(rule.a, a), on_one_rank(rule.b, b)};
  if (rule.op == GemmOp::matmul) {
    const std::span<const std::uint32_t> scale = is_fp8(rule.a) ? one : std::span<const std::uint32_t>();
    operands.push_back(on_one_rank(DType::f32, scale));
    operands.push_back(on_one_rank(DType::f32, scale));
  }
  operands.push_back(on_one_rank(rule.d, d));
  const auto all = codes_of_bytes(rule.d, execute_op(backend, action_of(rule, setting), operands).ranks[0]);
  std::vector<std::uint32_t> results;
  for (std::size_t i = 0; i < dots.size(); ++i) results.push_back(all[i * kWidth + i]);
  return results;
}

Probe probe_of(const DotRule& rule, const Dot& dot, const DotSetting& setting, std::uint32_t result) {
  Probe probe;
  probe.op = fmt::format("GEMM {} -> {}, {}K {}", describe(rule), name_of(rule.d),
                         setting.alpha == 1 ? "" : fmt::format("alpha {:a}, ", setting.alpha), setting.k);
  CodeList k{"k", "integer", {}};
  std::vector<std::uint32_t> a, b;
  for (const Term& term : dot) {
    k.codes.push_back(std::to_string(term.k));
    a.push_back(term.a);
    b.push_back(term.b);
  }
  probe.inputs = {k, code_list("A", rule.a, a), code_list("B", rule.b, b)};
  if (!setting.c.empty()) probe.inputs.push_back(code_list("C", rule.d, std::span(setting.c).first(1)));
  probe.outputs = {code_list("D", rule.d, std::span(&result, 1))};
  return probe;
}

std::optional<std::uint32_t> code_of(DType type, const SimpleNumber& number) {
  const Format& format = format_in(type);
  const ExponentRange range = normal(format);
  const int m = format.mantissa_bits;
  std::uint32_t code = 0;
  if (number.exponent >= range.least && number.exponent <= range.most) {
    code = static_cast<std::uint32_t>(number.exponent + format.bias) << m;
    if (number.significand == Significand::one_and_a_half) code |= 1u << (m - 1);
    if (code > format.max_code) return std::nullopt;
  } else if (number.exponent < range.least && number.exponent >= range.least - m &&
             number.significand == Significand::one) {
    code = 1u << (m - (range.least - number.exponent));
  } else {
    return std::nullopt;
  }
  return number.is_negative ? code | format.sign_mask() : code;
}

ExponentRange normal_products(const DotRule& rule) {
  const ExponentRange a = normal(format_in(rule.a)), b = normal(format_in(rule.b));
  return {a.least + b.least, a.most + b.most};
}

std::optional<Term> term_of(const DotRule& rule, std::int64_t k, const SimpleNumber& number) {
  const ExponentRange range = normal(format_in(rule.a)), other = normal(format_in(rule.b));
  int exponent = std::clamp(number.exponent / 2, range.least, range.most);
  // What B cannot take, A takes.
  exponent = std::clamp(exponent, number.exponent - other.most, number.exponent - other.least);
  exponent = std::clamp(exponent, range.least, range.most);
  const auto a = code_of(rule.a, {exponent, number.significand, number.is_negative});
  const auto b = code_of(rule.b, {number.exponent - exponent, Significand::one, false});
  if (!a || !b) return std::nullopt;
  return Term{k, *a, *b};
}

}  // namespace shardcheck
