#include "properties/fingerprint/gemm_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/numerics/encode.h"
#include "core/numerics/same_code.h"
#include "properties/fingerprint/one_op.h"

namespace shardcheck {
namespace {

using namespace gemm_end_facts;

constexpr std::int64_t kK = 64;

const Format& format_in(DType type) {
  return format_of(*format_id_of(type));
}

class Observation {
 public:
  Observation(Backend& backend, const DotRule& rule) : backend_(backend), rule_(rule) {}

  std::vector<Fact> run() {
    observe_rounding();
    observe_accumulation();
    observe_old_content();
    observe_zero();
    observe_subnormals();
    observe_special();
    return std::move(facts_);
  }

 private:
  Term term(std::int64_t k, int exponent, bool is_negative = false) const {
    return *term_of(rule_, k, {exponent, Significand::one, is_negative});
  }
  std::uint32_t c_code(double value) const {
    return encode(format_in(rule_.d), kIeee, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  }
  double value(std::uint32_t code) const { return value_of_code(rule_.d, code); }

  std::vector<std::uint32_t> ask(const std::vector<Dot>& dots, const DotSetting& setting) const {
    return multiply(backend_, rule_, dots, setting);
  }
  void add(std::string_view name, std::string value, std::string how, const std::vector<Dot>& dots,
           const DotSetting& setting, const std::vector<std::uint32_t>& results) {
    Fact fact{"end of " + describe(rule_), std::string(name), std::move(value), std::move(how), {}};
    for (std::size_t i = 0; i < dots.size(); ++i) {
      DotSetting own = setting;
      if (!own.c.empty()) own.c = {setting.c[i]};
      fact.probes.push_back(probe_of(rule_, dots[i], own, results[i]));
    }
    facts_.push_back(std::move(fact));
  }
  void unseen(std::string_view name, std::string reason) {
    facts_.push_back({"end of " + describe(rule_), std::string(name), "", std::move(reason), {}});
  }

  /// Ties and quarters above an even and an odd code of a 16-bit output, both signs.
  void observe_rounding() {
    if (rule_.d == DType::f32) return unseen(kRounding, "the accumulator is no wider than the output");
    const int m = format_in(rule_.d).mantissa_bits;
    std::vector<Dot> dots;
    std::vector<double> steps;
    for (bool negative : {false, true}) {
      for (int odd : {0, 1}) {
        for (int quarters : {1, 2, 3}) {
          Dot dot = {term(0, 0, negative)};
          if (odd != 0) dot.push_back(term(1, -m, negative));
          if ((quarters & 2) != 0) dot.push_back(term(2, -m - 1, negative));
          if ((quarters & 1) != 0) dot.push_back(term(3, -m - 2, negative));
          dots.push_back(dot);
          const double magnitude = std::ldexp(1.0, m) + odd + quarters * 0.25;
          steps.push_back(negative ? -magnitude : magnitude);
        }
      }
    }
    const auto results = ask(dots, {.k = kK});
    bool nearest = true, toward_zero = true;
    for (std::size_t i = 0; i < dots.size(); ++i) {
      const double got = std::ldexp(value(results[i]), m);
      nearest &= got == std::nearbyint(steps[i]);
      toward_zero &= got == std::trunc(steps[i]);
    }
    add(kRounding,
        nearest       ? "nearest_even"
        : toward_zero ? "toward_zero"
                      : "another one",
        "quarters of a step above an even and an odd code", dots, {.k = kK}, results);
  }

  void observe_accumulation() {
    if (rule_.d == DType::f32) return observe_wide_accumulation();
    // z = 1 + 2^-(m+1) is a tie that goes to 1; C = 2^-(m+1) makes the exact sum a code.
    const int m = format_in(rule_.d).mantissa_bits;
    const std::vector<Dot> dots = {{term(0, 0), term(1, -m - 1)}};
    const DotSetting setting{.k = kK, .c = {c_code(std::ldexp(1.0, -m - 1))}};
    const auto results = ask(dots, setting);
    const double got = value(results[0]);
    add(kAccumulation,
        got == 1                         ? "D = RN16(RN16(z) + C)"
        : got == 1 + std::ldexp(1.0, -m) ? "D = RN16(z + C)"
                                         : "another sum",
        "a product and a C that are both half a step", dots, setting, results);
  }

  /// C = 1 and a product of 1.5 * 2^-24: an fp32 addition rounds it up, an accumulator cuts it.
  void observe_wide_accumulation() {
    const auto small = term_of(rule_, 0, {-24, Significand::one_and_a_half, false});
    const int scale = small ? 0 : 10;  // E4M3 has no such product beside 1; beside 2^10 it has
    const auto product = small ? small : term_of(rule_, 0, {scale - 24, Significand::one_and_a_half, false});
    if (!product) return unseen(kAccumulation, "no product is small enough beside C");
    const std::vector<Dot> dots = {{*product}};
    const DotSetting setting{.k = kK, .c = {c_code(std::ldexp(1.0, scale))}};
    const auto results = ask(dots, setting);
    const double steps = (value(results[0]) - std::ldexp(1.0, scale)) / std::ldexp(1.0, scale - 23);
    add(kAccumulation,
        steps == 1   ? "D = RN(z + C), at the end"
        : steps == 0 ? "C is cut as a term of the sum, or the addition is"
                     : "another sum",
        "a product of three quarters of C's last place", dots, setting, results);
  }

  /// beta = 0 over NaN, and which elements are written.
  void observe_old_content() {
    const std::vector<Dot> dots(static_cast<std::size_t>(kDotsAtOnce), Dot{term(0, 0)});
    const std::uint32_t nan = format_in(rule_.d).quiet_nan_code;
    const OpOperand after = over_poison(dots.front().front(), nan);
    std::int64_t nans = 0, wrong = 0;
    const auto codes = codes_of_bytes(rule_.d, after.ranks[0]);
    for (const std::uint32_t code : codes) {
      nans += format_in(rule_.d).is_nan(code) ? 1 : 0;
      wrong += value(code) != 1 ? 1 : 0;
    }
    const auto all = std::ssize(codes);
    Fact fact{"end of " + describe(rule_),
              std::string(kOverwrite),
              nans == all ? "adds to the old content" : "never reads the old content",
              "a D full of NaN, all products 1",
              {}};
    fact.probes = {{"GEMM over NaN",
                    {code_list("old D", rule_.d, std::span(&nan, 1))},
                    {code_list("first and last of D", rule_.d, std::array{codes.front(), codes.back()})}}};
    Fact written = fact;
    written.name = kUnwritten;
    written.value = wrong == 0 ? "written" : fmt::format("{} of {} elements are wrong", wrong, all);
    facts_.push_back(std::move(fact));
    facts_.push_back(std::move(written));
  }

  OpOperand over_poison(const Term& one, std::uint32_t poison) const {
    std::vector<std::uint32_t> a(static_cast<std::size_t>(kDotsAtOnce * kK)), b(a.size());
    const bool by_k = rule_.op == GemmOp::matmul;
    for (std::size_t i = 0; i < static_cast<std::size_t>(kDotsAtOnce); ++i) {
      a[by_k ? i * static_cast<std::size_t>(kK) : i] = one.a;
      b[by_k ? i * static_cast<std::size_t>(kK) : i] = one.b;
    }
    const std::vector<std::uint32_t> d(static_cast<std::size_t>(kDotsAtOnce * kDotsAtOnce), poison);
    std::vector<OpOperand> operands = {on_one_rank(rule_.a, a), on_one_rank(rule_.b, b)};
    const std::array scale = {std::bit_cast<std::uint32_t>(1.0f)};
    const bool scaled = bytes_of(rule_.a) == 1;
    if (by_k) {
      const auto scales = scaled ? std::span<const std::uint32_t>(scale) : std::span<const std::uint32_t>();
      operands.push_back(on_one_rank(DType::f32, scales));
      operands.push_back(on_one_rank(DType::f32, scales));
    }
    operands.push_back(on_one_rank(rule_.d, d));
    const ScaleKind kind = scaled ? ScaleKind::tensor : ScaleKind::none;
    const Action action = by_k ? Action{Matmul{.m = kDotsAtOnce,
                                               .n = kDotsAtOnce,
                                               .k = kK,
                                               .scales_a = kind,
                                               .scales_b = kind,
                                               .fast_accumulation = rule_.fast_accumulation}}
                               : Action{Gemm{kK, kDotsAtOnce, kDotsAtOnce, false}};
    return execute_op(backend_, action, operands);
  }

  std::string sign_of(std::uint32_t code) const {
    return value(code) != 0 ? "no zero" : (code & format_in(rule_.d).sign_mask()) != 0 ? "-0" : "+0";
  }

  void observe_zero() {
    const Term minus_zero{0, format_in(rule_.a).sign_mask(), *code_of(rule_.b, {0, Significand::one, false})};
    const std::vector<Dot> dots = {{minus_zero}, {term(0, 0), term(1, 0, true)}};
    std::vector<std::uint32_t> codes = ask(dots, {.k = kK});
    const DotSetting onto{.k = kK, .c = {c_code(-0.0), c_code(-0.0)}};
    const auto added = ask(dots, onto);
    codes.insert(codes.end(), added.begin(), added.end());
    if (rule_.op == GemmOp::matmul) {
      const auto negative = ask(dots, {.k = kK, .alpha = -1.5f});
      codes.insert(codes.end(), negative.begin(), negative.end());
    }
    std::string text;
    for (const std::uint32_t code : codes) text += (text.empty() ? "" : " ") + sign_of(code);
    const bool always = std::ranges::all_of(codes, [](std::uint32_t code) { return code == 0; });
    add(kZero, always ? "always +0" : text, "-0 * 1 and 1 - 1: alone, onto -0, and times alpha = -1.5", dots,
        onto, added);
  }

  void observe_subnormals() {
    const Format& to = format_in(rule_.d);
    const int least = to.smallest_exponent() - 2;
    const auto product = term_of(rule_, 0, {least, Significand::one, false});
    if (!product) return unseen(kSubnormals, "no product of these operands is that small");
    const std::vector<Dot> dots = {{*product}};
    const auto results = ask(dots, {.k = kK});
    add(kSubnormals,
        value(results[0]) == std::ldexp(1.0, least) ? "kept"
        : value(results[0]) == 0                    ? "flushed to zero"
                                                    : "changed",
        "a quarter of the output's least normal number", dots, {.k = kK}, results);
  }

  std::string class_of(std::uint32_t code) const {
    const double number = value(code);
    return std::isnan(number) ? "NaN" : std::isinf(number) ? (number > 0 ? "+Inf" : "-Inf") : "a number";
  }

  void observe_special() {
    const Format& a = format_in(rule_.a);
    const std::uint32_t one = *code_of(rule_.b, {0, Significand::one, false});
    std::vector<Dot> dots = {{{0, a.quiet_nan_code, one}}, {{0, a.quiet_nan_code, 0}}};
    std::string names[] = {"NaN * 1", "NaN * 0", "Inf * 1", "Inf * 0", "Inf - Inf"};
    if (a.has_infinity()) {
      const std::uint32_t infinity = a.infinity_code;
      dots.push_back({{0, infinity, one}});
      dots.push_back({{0, infinity, 0}});
      dots.push_back({{0, infinity, one}, {1, infinity | a.sign_mask(), one}});
    }
    const auto results = ask(dots, {.k = kK});
    std::string text;
    bool as_ieee = true;
    for (std::size_t i = 0; i < dots.size(); ++i) {
      const std::string seen = class_of(results[i]);
      as_ieee &= seen == (i == 2 ? "+Inf" : "NaN");
      text += fmt::format("{}{} gives {}", i == 0 ? "" : ", ", names[i], seen);
    }
    add(kSpecial, as_ieee ? "as IEEE 754" : text,
        a.has_infinity() ? "NaN * 1, NaN * 0, Inf * 1, Inf * 0, Inf - Inf" : "NaN * 1, NaN * 0", dots,
        {.k = kK}, results);
  }

  Backend& backend_;
  const DotRule& rule_;
  std::vector<Fact> facts_;
};

}  // namespace

std::vector<Fact> observe_gemm_end(Backend& backend, const DotRule& rule) {
  try {
    return Observation(backend, rule).run();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    return {{"end of " + describe(rule), std::string(kRounding), "", error.what(), {}}};
  }
}

std::vector<Fact> observe_empty_wgrad(Backend& backend) {
  std::vector<Fact> facts;
  for (bool accumulate : {false, true}) {
    const std::array old = {std::bit_cast<std::uint32_t>(3.0f), std::bit_cast<std::uint32_t>(-0.0f)};
    const std::array operands = {on_one_rank(DType::bf16, {}), on_one_rank(DType::bf16, {}),
                                 on_one_rank(DType::f32, old)};
    const auto d =
        codes_of_bytes(DType::f32, execute_op(backend, Gemm{0, 1, 2, accumulate}, operands).ranks[0]);
    const bool untouched = d[0] == old[0] && d[1] == old[1], zeros = d[0] == 0 && d[1] == 0;
    facts.push_back({"wgrad of no tokens",
                     accumulate ? "beta = 1" : "beta = 0",
                     untouched ? "leaves every byte"
                     : zeros   ? "writes +0"
                               : "writes something else",
                     "over 3 and -0",
                     {{"wgrad of no tokens",
                       {code_list("old D", DType::f32, std::span<const std::uint32_t>(old))},
                       {code_list("D", DType::f32, std::span<const std::uint32_t>(d))}}}});
  }
  return facts;
}

}  // namespace shardcheck
