#include "properties/format_law/power_laws.h"

#include <fmt/format.h>

#include <cmath>

namespace shardcheck {
namespace {

constexpr std::uint32_t kLast = 254, kNan = 255;
constexpr int kBias = 127;

double power(std::uint32_t code) {
  return std::ldexp(1.0, static_cast<int>(code) - kBias);
}

/// Whether a code in [0, 254] is the wanted one of a positive finite magnitude of at most 2^127, by the words
/// of the law: no power of two on the wrong side, none nearer.
bool is_wanted(PowerOfTwoRounding rounding, std::uint32_t code, double x) {
  const double p = power(code);
  const auto distance = [&](double other) { return std::abs(other - x); };
  switch (rounding) {
    case PowerOfTwoRounding::up: return p >= x && (code == 0 || power(code - 1) < x);
    case PowerOfTwoRounding::down: return (p <= x || code == 0) && (code == kLast || power(code + 1) > x);
    case PowerOfTwoRounding::nearest_even:
    case PowerOfTwoRounding::nearest_up: break;
  }
  const bool upwards = rounding == PowerOfTwoRounding::nearest_up;
  // Halfway between two codes only one of them may stand: the even one, or the larger.
  const auto loses_tie = [&](bool is_lower) { return upwards ? is_lower : code % 2 == 1; };
  if (code > 0) {
    const double below = distance(power(code - 1));
    if (below < distance(p) || (below == distance(p) && loses_tie(false))) return false;
  }
  const double above = distance(power(code + 1));
  return !(above < distance(p) || (above == distance(p) && loses_tie(true)));
}

/// The code of overflow, where the magnitude is infinite or would round above 2^127.
bool overflows(PowerOfTwoRounding rounding, double x) {
  switch (rounding) {
    case PowerOfTwoRounding::up: return x > 0x1p127;
    case PowerOfTwoRounding::down: return std::isinf(x);
    case PowerOfTwoRounding::nearest_even: return x > 0x1.8p127;
    case PowerOfTwoRounding::nearest_up: return x >= 0x1.8p127;
  }
  return false;
}

}  // namespace

FormatVerdict rounds_powers(const FormatEvidence& e) {
  const auto& policy = std::get<PowerOfTwoPolicy>(e.cast.rule);
  const std::uint32_t overflow = policy.overflow == FiniteOverflow::saturate ? kLast : kNan;
  for (const auto* list : {&e.inputs, &e.nans}) {
    for (const CastNumber& number : *list) {
      const double x = std::abs(number.value());
      const bool is_right = number.is_nan()                 ? number.code == kNan
                            : overflows(policy.rounding, x) ? number.code == overflow
                            : number.code == kNan           ? false
                                                            : is_wanted(policy.rounding, number.code, x);
      if (!is_right)
        return fmt::format("{} (0x{:08x}) has code 0x{:02x}, which the rounding does not give",
                           number.value(), number.bits, number.code);
    }
  }
  return std::nullopt;
}

FormatVerdict has_exact_reciprocals(const FormatEvidence& e) {
  for (std::uint32_t code = 0; code <= kLast; ++code) {
    const float number = e.decoded[code], reciprocal = 1.0f / number;
    if (static_cast<double>(number) != power(code) || static_cast<double>(reciprocal) != 1 / power(code))
      return fmt::format("code 0x{:02x} is {} and its reciprocal {}; they are powers of two of {} and {}",
                         code, number, reciprocal, static_cast<int>(code) - kBias,
                         kBias - static_cast<int>(code));
  }
  return std::nullopt;
}

}  // namespace shardcheck
