#include "properties/format_law/format_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/format_law/evidence.h"
#include "properties/format_law/power_laws.h"
#include "properties/format_law/random_laws.h"
#include "properties/format_law/verdict.h"

namespace shardcheck {
namespace {

using Verdict = FormatVerdict;

std::string shown(const CastNumber& number) {
  return fmt::format("{} (0x{:08x}) has code 0x{:02x}", number.value(), number.bits, number.code);
}

/// The policy's answer to overflow, without sign.
std::uint32_t overflow_code(const FormatEvidence& e) {
  const auto& policy = std::get<CastPolicy>(e.cast.rule);
  const bool has_special = e.row.first_nan >= 0;
  if (policy.finite_overflow == FiniteOverflow::saturate || !has_special) return e.format.max_code;
  return static_cast<std::uint32_t>(e.row.first_infinity >= 0 ? e.row.first_infinity : e.row.first_nan);
}

bool is_fnuz(const FormatEvidence& e) {
  return e.format.encoding == Encoding::fnuz;
}
std::uint32_t magnitude_of(const FormatEvidence& e, std::uint32_t code) {
  return code & e.format.magnitude_mask();
}
bool is_nan_code(const FormatEvidence& e, std::uint32_t code) {
  return table_number(e.row, code).is == NumberClass::nan;
}

/// F1.
Verdict decodes_the_table(const FormatEvidence& e) {
  for (std::uint32_t code = 0; code < e.decoded.size(); ++code) {
    const TableNumber number = table_number(e.row, code);
    const auto actual = static_cast<double>(e.decoded[code]);
    const bool is_right = number.is == NumberClass::nan
                              ? std::isnan(actual)
                              : actual == number.value() && std::signbit(actual) == number.negative;
    if (!is_right)
      return fmt::format("code 0x{:02x} means {}, and is read as {}", code, number.value(), actual);
  }
  return std::nullopt;
}

/// F2 for an infinity: itself, or as overflow.
std::uint32_t code_of_infinity(const FormatEvidence& e, std::uint32_t code) {
  const auto& policy = std::get<CastPolicy>(e.cast.rule);
  if (policy.infinity == InfinityRule::to_special) return code;
  return overflow_code(e) | (code & e.format.sign_mask());
}

/// F2 for a NaN: the code that the policy names (fp8 0.3).
std::uint32_t code_of_nan(const FormatEvidence& e, bool is_negative) {
  const auto* policy = std::get_if<CastPolicy>(&e.cast.rule);
  if (policy == nullptr || is_fnuz(e)) return static_cast<std::uint32_t>(e.row.first_nan);
  const bool is_quiet = policy->nan_code == NanCode::quiet_or_negated_zero && e.row.first_infinity >= 0;
  const std::uint32_t code =
      is_quiet ? 1u << (e.row.mantissa_bits - 1) | static_cast<std::uint32_t>(e.row.first_infinity)
               : e.format.magnitude_mask();
  return is_negative && policy->nan_sign == NanSign::keep ? code | e.format.sign_mask() : code;
}

/// F2.
Verdict codes_stay(const FormatEvidence& e) {
  for (std::size_t i = 0; i < e.numbers.size(); ++i) {
    const bool is_infinity = table_number(e.row, e.codes[i]).is == NumberClass::infinity;
    const std::uint32_t expected = is_infinity ? code_of_infinity(e, e.codes[i]) : e.codes[i];
    if (e.numbers[i].code != expected)
      return fmt::format("the number of code 0x{:02x}, {}, not 0x{:02x}", e.codes[i], shown(e.numbers[i]),
                         expected);
  }
  for (const CastNumber& nan : e.nans) {
    const std::uint32_t expected = code_of_nan(e, nan.is_negative());
    if (e.row.first_nan >= 0 && nan.code != expected)
      return fmt::format("NaN (0x{:08x}) has code 0x{:02x}, not 0x{:02x}", nan.bits, nan.code, expected);
  }
  return std::nullopt;
}

/// F4: of numbers in order, codes are in order. Codes of NaN have none.
Verdict is_monotone(const FormatEvidence& e) {
  std::vector<CastNumber> sorted;
  for (const auto* list : {&e.inputs, &e.negated, &e.corners}) {
    for (const CastNumber& number : *list) {
      if (number.is_finite() && !is_nan_code(e, number.code)) sorted.push_back(number);
    }
  }
  std::ranges::sort(sorted, {}, &CastNumber::value);
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const CastNumber &below = sorted[i - 1], &above = sorted[i];
    if (table_number(e.row, below.code).value() <= table_number(e.row, above.code).value()) continue;
    return fmt::format("{}, and the larger {}", shown(below), shown(above));
  }
  return std::nullopt;
}

/// F5, of results that are not zero: those are F10's.
Verdict is_symmetric(const FormatEvidence& e) {
  for (std::size_t i = 0; i < e.negated.size(); ++i) {
    const CastNumber &number = e.inputs[i], &negated = e.negated[i];
    const bool is_zero = magnitude_of(e, number.code) == 0 && magnitude_of(e, negated.code) == 0;
    if (number.is_nan() || is_zero) continue;
    const bool is_one_nan = is_fnuz(e) && is_nan_code(e, number.code);
    if (negated.code != (is_one_nan ? number.code : number.code ^ e.format.sign_mask()))
      return fmt::format("{}, and {}", shown(number), shown(negated));
  }
  return std::nullopt;
}

/// F6: what a threshold must become, without sign; nothing for other corners.
std::optional<std::uint32_t> at_threshold(const FormatEvidence& e, std::uint32_t magnitude) {
  if (magnitude == e.row.last_of_zero) return 0;
  if (magnitude == e.row.first_of_one) return 1;
  if (magnitude == e.row.first_of_most || magnitude == e.row.last_of_most) return e.format.max_code;
  if (magnitude == e.row.first_overflow) return overflow_code(e);
  return std::nullopt;
}

Verdict keeps_thresholds(const FormatEvidence& e) {
  for (const CastNumber& corner : e.corners) {
    const auto expected = at_threshold(e, corner.bits & 0x7fffffffu);
    // Which zero, is F10's question.
    if (!expected || (is_fnuz(e) && is_nan_code(e, *expected) && is_nan_code(e, corner.code))) continue;
    if (magnitude_of(e, corner.code) != *expected)
      return fmt::format("at a threshold {}, not 0x{:02x}", shown(corner), *expected);
  }
  return std::nullopt;
}

/// F9. Exact: numbers have 24 bits, numbers of the format fewer.
Verdict is_near(const FormatEvidence& e) {
  const int bits = e.row.mantissa_bits;
  for (const auto* list : {&e.inputs, &e.negated}) {
    for (const CastNumber& number : *list) {
      const double x = std::abs(number.value());
      if (!number.is_finite() || x > e.row.largest) continue;
      const double error = std::abs(table_number(e.row, number.code).value() - number.value());
      const double bound = x >= e.row.smallest_normal ? std::ldexp(x, -bits - 1)
                                                      : std::ldexp(e.row.smallest_normal, -bits - 1);
      if (is_nan_code(e, number.code) || error > bound)
        return fmt::format("{}, which is {} away; at most {} is right", shown(number), error, bound);
    }
  }
  return std::nullopt;
}

/// F10.
Verdict keeps_sign_of_zero(const FormatEvidence& e) {
  const std::uint32_t expected = is_fnuz(e) ? 0 : e.format.sign_mask();
  for (const auto* list : {&e.inputs, &e.negated, &e.corners}) {
    for (const CastNumber& number : *list) {
      const std::uint32_t magnitude = number.bits & 0x7fffffffu;
      if (!number.is_negative() || magnitude == 0 || magnitude > e.row.last_of_zero) continue;
      if (number.code != expected) return fmt::format("{}, not 0x{:02x}", shown(number), expected);
    }
  }
  return std::nullopt;
}

/// F11.
Verdict shifts_exponents(const FormatEvidence& e) {
  const auto is_normal = [&](const CastNumber& number) {
    const double x = std::abs(number.value());
    return x >= e.row.smallest_normal && x <= e.row.largest;
  };
  for (const ShiftedNumber& pair : e.shifted) {
    if (!is_normal(pair.from) || !is_normal(pair.to)) continue;
    const auto expected = static_cast<std::uint32_t>(static_cast<int>(pair.from.code) +
                                                     pair.shift * (1 << e.row.mantissa_bits));
    if (pair.to.code != expected)
      return fmt::format("{}, and times 2^{} {}, not 0x{:02x}", shown(pair.from), pair.shift, shown(pair.to),
                         expected);
  }
  return std::nullopt;
}

/// F13: a code in its neighbour's place, which is not the neighbour's code by chance.
Verdict lies_in_order(const FormatEvidence& e) {
  for (std::size_t i = 0; i + 1 < e.numbers.size(); i += 2) {
    const bool are_swapped = e.numbers[i].code == e.codes[i + 1] && e.numbers[i + 1].code == e.codes[i];
    if (are_swapped && e.codes[i] != e.codes[i + 1])
      return fmt::format("codes {} and {} lie in each other's places", i, i + 1);
  }
  return std::nullopt;
}

/// F13 of FP4: element 2 i in the low half of byte i. Whatever the codes are, and for odd counts.
Verdict packs_in_order(const FormatEvidence& e) {
  if (e.format.width() != 4) return std::nullopt;
  std::vector<std::uint8_t> codes;
  for (const CastNumber& number : e.inputs) codes.push_back(static_cast<std::uint8_t>(number.code & 15));
  const std::vector<std::uint8_t> bytes = e.machine.rules().packed(codes);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const int half = i / 2 < bytes.size() ? bytes[i / 2] >> (i % 2 * 4) & 15 : -1;
    if (half != codes[i])
      return fmt::format("element {} of {}, code {}, is packed as {}", i, codes.size(), codes[i], half);
  }
  return std::nullopt;
}

struct Law {
  std::string_view clause;
  Verdict (*judge)(const FormatEvidence& e);
};

constexpr Law kAnyFormat[] = {{"F1", decodes_the_table}, {"F2", codes_stay}};
constexpr Law kSignMagnitude[] = {
    {"F4", is_monotone},     {"F5", is_symmetric},        {"F6", keeps_thresholds},
    {"F9", is_near},         {"F10", keeps_sign_of_zero}, {"F11", shifts_exponents},
    {"F13", packs_in_order}, {"F14", draws_by_fraction},  {"F15", draws_keep_codes}};
constexpr Law kPowersOfTwo[] = {{"F16", rounds_powers}, {"F17", has_exact_reciprocals}};

void judge(const FormatEvidence& e, std::span<const Law> laws, std::vector<Finding>& findings) {
  for (const Law& law : laws) {
    const Verdict broken = law.judge(e);
    if (!broken) continue;
    findings.push_back({.clause = std::string(law.clause),
                        .sentence = fmt::format("{} by {} from {}: {}", e.format.name, e.cast.name,
                                                name_of(e.asked.source), *broken)});
  }
}

}  // namespace

std::vector<Finding> judge_format(const FormatCase& c, const NumberMachine& machine) {
  const auto evidence = gather(c, machine);
  std::vector<Finding> findings;
  if (!evidence) return findings;
  constexpr Law kOrder[] = {{"F13", lies_in_order}};
  judge(*evidence, kOrder, findings);
  if (!findings.empty()) return findings;
  judge(*evidence, kAnyFormat, findings);
  if (std::holds_alternative<PowerOfTwoPolicy>(evidence->cast.rule)) {
    judge(*evidence, kPowersOfTwo, findings);
  } else {
    judge(*evidence, kSignMagnitude, findings);
  }
  return findings;
}

}  // namespace shardcheck
