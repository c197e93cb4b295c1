#include "properties/fingerprint/elementwise.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "core/numerics/encode.h"
#include "core/numerics/format.h"
#include "core/numerics/same_code.h"
#include "core/plan/op.h"
#include "properties/fingerprint/one_op.h"

namespace shardcheck {
namespace {

using Codes = std::vector<std::uint32_t>;

const Format& format_in(DType type) {
  return format_of(*format_id_of(type));
}

std::uint32_t code_of(DType type, double value) {
  return encode(format_in(type), kIeee, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
}

/// The sum of numbers, by Add.
Codes sums(Backend& backend, DType type, const Codes& addend, const Codes& onto) {
  const std::array operands = {on_one_rank(type, addend), on_one_rank(type, onto)};
  return codes_of_bytes(type, execute_op(backend, Add{}, operands).ranks[0]);
}

std::string zero_text(const Format& format, std::uint32_t code) {
  return code == format.sign_mask() ? "-0" : code == 0 ? "+0" : "no zero";
}

/// Parts of a step onto 1 and onto the number after it.
Fact rounding_of_sums(Backend& backend, DType type) {
  const int m = format_in(type).mantissa_bits;
  Codes addend, onto;
  std::vector<double> steps;
  for (double sign : {1.0, -1.0}) {
    for (int odd : {0, 1}) {
      for (double part : {0.25, 0.5, 0.75}) {
        addend.push_back(code_of(type, sign * std::ldexp(part, -m)));
        onto.push_back(code_of(type, sign * (1 + std::ldexp(odd, -m))));
        steps.push_back(sign * (std::ldexp(1.0, m) + odd + part));
      }
    }
  }
  const Codes results = sums(backend, type, addend, onto);
  bool nearest = true, toward_zero = true;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double got = std::ldexp(value_of_code(type, results[i]), m);
    nearest &= got == std::nearbyint(steps[i]);
    toward_zero &= got == std::trunc(steps[i]);
  }
  return {fmt::format("add {}", name_of(type)),
          "rounding",
          nearest       ? "nearest_even"
          : toward_zero ? "toward_zero"
                        : "another one",
          "quarters of a step onto an even and an odd code",
          {{"add",
            {code_list("addend", type, addend), code_list("onto", type, onto)},
            {code_list("sum", type, results)}}}};
}

std::vector<Fact> corners_of_sums(Backend& backend, DType type) {
  const Format& format = format_in(type);
  const std::uint32_t sign = format.sign_mask();
  const Codes addend = {sign, sign, 1}, onto = {sign, 0, 1};
  const Codes results = sums(backend, type, addend, onto);
  const std::string subject = fmt::format("add {}", name_of(type));
  const Probe probe{"add",
                    {code_list("addend", type, addend), code_list("onto", type, onto)},
                    {code_list("sum", type, results)}};
  return {{subject,
           "zero",
           fmt::format("-0 + -0 gives {}, -0 + +0 gives {}", zero_text(format, results[0]),
                       zero_text(format, results[1])),
           "signs of zero",
           {probe}},
          {subject,
           "subnormals",
           results[2] == 2   ? "kept"
           : results[2] == 0 ? "flushed to zero"
                             : "changed",
           "twice the least number",
           {probe}}};
}

std::vector<Fact> facts_of_scale(Backend& backend, DType type) {
  const Format& format = format_in(type);
  const float factor = 0x1.99999ap-4f;                               // 0.1
  const Codes values = {code_of(type, 3), format.sign_mask(), 16u};  // 16 times the least number
  const std::array operands = {on_one_rank(type, values)};
  const Codes results = codes_of_bytes(type, execute_op(backend, Scale{factor}, operands).ranks[0]);
  const Probe probe{fmt::format("scale by {:a}", factor),
                    {code_list("before", type, values)},
                    {code_list("after", type, results)}};
  const std::string subject = fmt::format("scale {}", name_of(type));
  const auto least = static_cast<std::uint32_t>(2);  // 1.6, to nearest
  return {{subject,
           "product",
           results[0] == code_of(type, 3.0 * factor) ? "once, rounded to nearest" : "another product",
           "3 * 0.1f",
           {probe}},
          {subject, "zero", fmt::format("-0 gives {}", zero_text(format, results[1])), "-0 * 0.1f", {probe}},
          {subject,
           "subnormals",
           results[2] == least ? "kept"
           : results[2] == 0   ? "flushed to zero"
                               : "changed",
           "16 times the least number, by 0.1f",
           {probe}}};
}

/// w - rate * g with rate * g a tie: two roundings give 0, a fused one does not.
Fact optimizer_step(Backend& backend) {
  const float rate = 1.0f + 0x1p-12f, gradient = 1.0f + 0x1p-12f;
  const float weight = 1.0f + 0x1p-11f;  // RN(rate * gradient): the 2^-24 is half a step and goes to even
  const Codes g = {std::bit_cast<std::uint32_t>(gradient)}, w = {std::bit_cast<std::uint32_t>(weight)};
  const std::array operands = {on_one_rank(DType::f32, g), on_one_rank(DType::f32, w)};
  const Codes results = codes_of_bytes(DType::f32, execute_op(backend, SgdStep{rate}, operands).ranks[0]);
  const float got = std::bit_cast<float>(results[0]);
  return {"optimizer step",
          "w - rate g",
          got == 0           ? "product and difference are rounded"
          : got == -0x1p-24f ? "one rounding (fma)"
                             : "another result",
          "a product that is half a step away from w",
          {{"optimizer step",
            {code_list("g", DType::f32, g), code_list("w", DType::f32, w)},
            {code_list("w after", DType::f32, results)}}}};
}

}  // namespace

std::vector<Fact> observe_elementwise(Backend& backend) {
  std::vector<Fact> facts;
  for (DType type : {DType::f32, DType::bf16, DType::f16}) {
    facts.push_back(rounding_of_sums(backend, type));
    for (Fact& fact : corners_of_sums(backend, type)) facts.push_back(std::move(fact));
    for (Fact& fact : facts_of_scale(backend, type)) facts.push_back(std::move(fact));
  }
  facts.push_back(optimizer_step(backend));
  return facts;
}

}  // namespace shardcheck
