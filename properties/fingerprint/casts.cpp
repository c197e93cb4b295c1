#include "properties/fingerprint/casts.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "core/numerics/cast_policy.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"
#include "core/plan/op.h"
#include "properties/fingerprint/one_op.h"

namespace shardcheck {
namespace {

using namespace cast_facts;

const Format& format_in(DType type) {
  return format_of(*format_id_of(type));
}

/// A cast to look at.
struct Conversion {
  std::string subject;
  Action action;
  DType source, destination;

  const Format& from() const { return format_in(source); }
  const Format& to() const { return format_in(destination); }
};

/// What a machine makes of source codes.
struct Casts {
  const Conversion& conversion;
  std::vector<std::uint32_t> inputs, outputs;

  Casts(Backend& backend, const Conversion& which, std::vector<std::uint32_t> codes)
      : conversion(which), inputs(std::move(codes)) {
    const std::vector<std::uint32_t> poison(inputs.size(), 0x55);
    const std::array operands = {on_one_rank(which.source, inputs), on_one_rank(which.destination, poison)};
    outputs = codes_of_bytes(which.destination, execute_op(backend, which.action, operands).ranks[0]);
  }
  std::vector<Probe> probes() const {
    return {{conversion.subject,
             {code_list("source", conversion.source, inputs)},
             {code_list("destination", conversion.destination, outputs)}}};
  }
};

/// The code of an exactly representable number in the source's type.
std::uint32_t source_code(const Conversion& conversion, double value) {
  return encode(conversion.from(), kIeee, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
}

Fact fact_of(const Casts& casts, std::string_view name, std::string value, std::string how) {
  return {casts.conversion.subject, std::string(name), std::move(value), std::move(how), casts.probes()};
}

// ---- Rounding.

/// The value as a whole number of steps, rounded in a direction.
struct NamedRounding {
  std::string_view name;
  double (*round)(double steps);
};
double half_away(double steps) {
  return std::round(steps);
}
double half_even(double steps) {
  const double below = std::floor(steps), rest = steps - below;
  if (rest != 0.5) return std::round(steps);
  return std::fmod(below, 2) == 0 ? below : below + 1;
}
double down(double steps) {
  return std::floor(steps);
}
double up(double steps) {
  return std::ceil(steps);
}
double zero(double steps) {
  return std::trunc(steps);
}
constexpr NamedRounding kRoundings[] = {{"nearest_even", half_even},
                                        {"toward_zero", zero},
                                        {"nearest, ties away from zero", half_away},
                                        {"downward", down},
                                        {"upward", up}};

/// Numbers between codes in the binade of 1: a quarter, a half and three quarters of a step above an even and
/// an odd code.
Fact rounding_of(Backend& backend, const Conversion& conversion) {
  const int m = conversion.to().mantissa_bits;
  const double step = std::ldexp(1.0, -m), whole = std::ldexp(1.0, m);
  std::vector<double> steps;
  std::vector<std::uint32_t> inputs;
  for (double sign : {1.0, -1.0}) {
    for (double code : {0.0, 1.0}) {
      for (double part : {0.25, 0.5, 0.75}) {
        steps.push_back(sign * (whole + code + part));
        inputs.push_back(source_code(conversion, steps.back() * step));
      }
    }
  }
  const Casts casts(backend, conversion, std::move(inputs));
  std::string value = "another one";
  for (const NamedRounding& rounding : kRoundings) {
    bool fits = true;
    for (std::size_t i = 0; i < steps.size(); ++i)
      fits &= decode(conversion.to(), casts.outputs[i]) == rounding.round(steps[i]) * step;
    if (fits) {
      value = rounding.name;
      break;
    }
  }
  return fact_of(casts, kRounding, std::move(value), "quarters of a step around 1, both signs");
}

// ---- Edges.

/// What a code is, in words.
std::string kind_of(const Format& format, std::uint32_t code) {
  const std::uint32_t magnitude = code & format.magnitude_mask();
  if (format.is_nan(code)) return "NaN";
  if (format.is_infinity(code)) return "infinity";
  return magnitude == format.max_code ? "the largest code" : "another number";
}

bool has_sign(const Format& format, std::uint32_t code) {
  return (code & format.sign_mask()) != 0;
}

/// The largest finite code of the source, both signs: it overflows every destination asked about.
std::vector<Fact> overflow_facts(Backend& backend, const Conversion& conversion) {
  const Format& from = conversion.from();
  const Format& to = conversion.to();
  const auto both_signs = [&](std::uint32_t magnitude) {
    return std::vector<std::uint32_t>{magnitude, magnitude | from.sign_mask()};
  };
  const auto kept_sign = [&](const Casts& casts) {
    return !has_sign(to, casts.outputs[0]) && has_sign(to, casts.outputs[1]);
  };
  const Casts finite(backend, conversion, both_signs(from.max_code));
  const Casts infinite(backend, conversion, both_signs(from.infinity_code));
  const std::string finite_kind = kind_of(to, finite.outputs[0]);
  const std::string overflow = finite_kind == "the largest code"                   ? "saturate"
                               : finite_kind == "NaN" || finite_kind == "infinity" ? "to_special"
                                                                                   : "another code";
  std::string infinity = "another code";
  if (infinite.outputs == finite.outputs) {
    infinity = overflow == "to_special" ? "special, as a finite overflow is" : "as_overflow";
  } else if (const std::string kind = kind_of(to, infinite.outputs[0]); kind == "NaN" || kind == "infinity") {
    infinity = "to_special";
  }
  const auto with_sign = [&](std::string text, const Casts& casts) {
    return kept_sign(casts) ? text : text + ", sign lost";
  };
  return {fact_of(finite, kOverflow, with_sign(overflow, finite),
                  fmt::format("the largest finite {} becomes {}", from.name, finite_kind)),
          fact_of(infinite, kInfinity, with_sign(infinity, infinite),
                  fmt::format("infinity becomes {}", kind_of(to, infinite.outputs[0])))};
}

std::vector<Fact> nan_facts(Backend& backend, const Conversion& conversion) {
  const Format& from = conversion.from();
  const Format& to = conversion.to();
  const std::uint32_t quiet = from.quiet_nan_code, payload = from.nan_code,
                      signalling = from.infinity_code + 1;
  const Casts casts(backend, conversion,
                    {quiet, payload, signalling, quiet | from.sign_mask(), payload | from.sign_mask(),
                     signalling | from.sign_mask()});
  bool all_nan = true, same = true, drops = true, keeps = true;
  for (std::size_t i = 0; i < casts.outputs.size(); ++i) {
    const std::uint32_t code = casts.outputs[i];
    all_nan &= to.is_nan(code);
    same &= (code & to.magnitude_mask()) == (casts.outputs[0] & to.magnitude_mask());
    drops &= !has_sign(to, code);
    keeps &= has_sign(to, code) == (i >= 3);
  }
  const std::uint32_t magnitude = casts.outputs[0] & to.magnitude_mask();
  std::string code = "depends on the payload";
  if (!all_nan) {
    code = "a NaN becomes a number";
  } else if (same && to.nan_code == to.quiet_nan_code) {
    code = "the only one";
  } else if (same) {
    code = magnitude == to.nan_code ? "all_ones_or_max"
           : magnitude == to.quiet_nan_code
               ? "quiet_or_negated_zero"
               : fmt::format("always {}", hex(conversion.destination, magnitude));
  }
  const std::string how = "quiet, full and signalling NaNs of both signs";
  return {fact_of(casts, kNanCode, std::move(code), how), fact_of(casts, kNanSign,
                                                                  drops   ? "drop"
                                                                  : keeps ? "keep"
                                                                          : "neither dropped nor kept",
                                                                  how)};
}

/// -0 and the least subnormal.
std::vector<Fact> small_facts(Backend& backend, const Conversion& conversion) {
  const Format& to = conversion.to();
  const Casts zero(backend, conversion, {0, conversion.from().sign_mask()});
  const double least = std::ldexp(1.0, to.smallest_exponent() - to.mantissa_bits);
  std::vector<Fact> facts = {fact_of(zero, kMinusZero,
                                     zero.outputs[1] == to.sign_mask() && zero.outputs[0] == 0 ? "kept"
                                     : zero.outputs[1] == 0                                    ? "lost"
                                                            : "another code",
                                     "+0 and -0")};
  const std::uint32_t code = source_code(conversion, least);
  if (decode(conversion.from(), code) != least) {
    facts.push_back({conversion.subject, std::string(kSubnormals), "", "the source has no such number", {}});
    return facts;
  }
  const Casts small(backend, conversion, {code, code | conversion.from().sign_mask()});
  facts.push_back(fact_of(small, kSubnormals,
                          small.outputs[0] == 1                           ? "kept"
                          : (small.outputs[0] & to.magnitude_mask()) == 0 ? "flushed to zero"
                                                                          : "changed",
                          "the least subnormal of the destination"));
  return facts;
}

void append(std::vector<Fact>& facts, std::vector<Fact> more) {
  for (Fact& fact : more) facts.push_back(std::move(fact));
}

std::vector<Conversion> all_conversions() {
  std::vector<Conversion> all;
  for (DType destination : {DType::e4m3, DType::e5m2}) {
    for (std::size_t policy = 0; policy < kCastPolicies.size(); ++policy) {
      for (DType source : {DType::f32, DType::bf16, DType::f16}) {
        all.push_back({fmt::format("cast {} -> {}, {}", name_of(source), name_of(destination),
                                   kCastPolicies[policy].name),
                       Cast{static_cast<std::int8_t>(policy)}, source, destination});
      }
    }
  }
  for (DType destination : {DType::bf16, DType::f16})
    all.push_back({fmt::format("copy f32 -> {}", name_of(destination)), Copy{}, DType::f32, destination});
  return all;
}

// ---- Products that are rounded before they are cast.

/// x and s with x * s just above a midpoint of codes, so near that fp32 rounds it onto the midpoint.
struct Factors {
  float x, s;
};
std::optional<Factors> near_midpoint(double midpoint) {
  for (std::uint32_t k = 1; k < 4096; ++k) {
    const float s = 1.0f + static_cast<float>(2 * k + 1) * 0x1p-23f;
    for (const float x :
         {static_cast<float>(midpoint / s), std::nextafter(static_cast<float>(midpoint / s), 4.0f)}) {
      const double product = static_cast<double>(x) * s;  // exact
      if (product > midpoint && static_cast<float>(product) == static_cast<float>(midpoint))
        return Factors{x, s};
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Fact> observe_casts(Backend& backend) {
  std::vector<Fact> facts;
  for (const Conversion& conversion : all_conversions()) {
    facts.push_back(rounding_of(backend, conversion));
    append(facts, overflow_facts(backend, conversion));
    append(facts, nan_facts(backend, conversion));
    append(facts, small_facts(backend, conversion));
  }
  return facts;
}

std::vector<Fact> observe_scaled_casts(Backend& backend) {
  std::vector<Fact> facts;
  const auto add = [&](std::string subject, const Factors& factors, std::array<std::uint32_t, 2> codes,
                       const OpOperand& source, const Action& action, DType destination) {
    const std::array scale = {std::bit_cast<std::uint32_t>(factors.s)}, poison = {std::uint32_t{0x55}};
    const std::array operands = {source, on_one_rank(DType::f32, scale), on_one_rank(destination, poison)};
    const auto result = codes_of_bytes(destination, execute_op(backend, action, operands).ranks[0]);
    const std::string value = result[0] == codes[0]   ? "the product is rounded to fp32 first"
                              : result[0] == codes[1] ? "one rounding of the exact product"
                                                      : "another result";
    facts.push_back(
        {std::move(subject),
         "product",
         value,
         "a product so near a midpoint that fp32 rounds it onto it",
         {{"product",
           {code_list("source", source.type, source.ranks[0]), code_list("scale", DType::f32, scale)},
           {code_list("destination", destination, result)}}}});
  };
  // 1.0625 lies between the E4M3 codes 0x38 (even) and 0x39.
  if (const auto factors = near_midpoint(1.0625)) {
    const std::array x = {std::bit_cast<std::uint32_t>(factors->x)};
    add("quantize f32 -> e4m3", *factors, {0x38, 0x39}, on_one_rank(DType::f32, x), Quantize{0}, DType::e4m3);
  }
  // 1.5 times a scale just above a midpoint of bf16 over 1.5.
  for (std::uint32_t k = 0; k < 0x100; ++k) {
    // 257 + 2k is odd: 2^-8 (257 + 2k) lies between two codes of bf16.
    const double midpoint = 1.0 + (2 * k + 1) * 0x1p-8;
    const float s = std::nextafter(static_cast<float>(midpoint / 1.5), 4.0f);
    const double product = 1.5 * static_cast<double>(s);
    if (product <= midpoint || static_cast<float>(product) != static_cast<float>(midpoint) || k % 2 != 0)
      continue;
    const std::array code = {std::uint32_t{0x3C}};  // 1.5
    const std::uint32_t below = 0x3F80 + k;
    add("dequantize e4m3 -> bf16", {1.5f, s}, {below, below + 1}, on_one_rank(DType::e4m3, code),
        Dequantize{}, DType::bf16);
    break;
  }
  return facts;
}

}  // namespace shardcheck
