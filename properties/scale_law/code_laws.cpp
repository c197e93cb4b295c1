#include "properties/scale_law/code_laws.h"

#include <fmt/format.h>

#include <cmath>

#include "core/tensor/dtype.h"
#include "properties/format_law/number_table.h"

namespace shardcheck {
namespace {

/// What no op of a plan has, is judged as E4M3.
FormatId eight_bits(const ScaleSubject& s) {
  return s.elements == FormatId::e5m2 ? FormatId::e5m2 : FormatId::e4m3;
}

/// Codes of finite numbers.
std::vector<std::uint8_t> finite_codes(FormatId elements) {
  std::vector<std::uint8_t> codes;
  const TableRow& row = table_row(elements);
  for (std::uint32_t code = 0; code < code_count(row); ++code) {
    if (table_number(row, code).is == NumberClass::finite) codes.push_back(static_cast<std::uint8_t>(code));
  }
  return codes;
}

double power(const ScaleSubject& s) {
  return std::ldexp(1.0, s.c.code - 127);
}

/// The first code whose product with the power is not exact, of those that `asks` names.
template <class Asks>
ScaleVerdict exact_products(const ScaleSubject& s, Asks asks) {
  const FormatId elements = eight_bits(s);
  const std::vector<std::uint8_t> codes = finite_codes(elements);
  for (const DType type : {DType::f32, DType::bf16}) {
    const auto numbers = s.machine.widened(elements, type, codes, static_cast<float>(power(s)));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double value = table_number(table_row(elements), codes[i]).value(), expected = value * power(s);
      if (!asks(std::abs(value), std::abs(expected))) continue;
      if (!is_same_number(numbers[i], static_cast<float>(expected)))
        return fmt::format("{} (0x{:02x}) times 2^{} is {} in {}, not {}", value, codes[i], s.c.code - 127,
                           numbers[i], name_of(type), expected);
    }
  }
  return std::nullopt;
}

}  // namespace

ScaleVerdict keeps_codes(const ScaleSubject& s) {
  const FormatId elements = eight_bits(s);
  const std::vector<std::uint8_t> codes = finite_codes(elements);
  const auto inverse = static_cast<float>(1.0 / static_cast<double>(s.c.scale));
  const std::vector<float> numbers = s.machine.widened(elements, DType::f32, codes, inverse);
  if (numbers.empty()) return std::nullopt;  // another process has them
  const std::vector<std::uint8_t> back = s.machine.narrowed(elements, numbers, s.c.scale);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] != back[i])
      return fmt::format("code 0x{:02x} of {} is {} by the scale {} and comes back as 0x{:02x}", codes[i],
                         format_of(elements).name, numbers[i], s.c.scale, back[i]);
  }
  return std::nullopt;
}

ScaleVerdict powers_arrive(const ScaleSubject& s) {
  return exact_products(s, [](double value, double) { return value == 1; });
}

ScaleVerdict products_are_exact(const ScaleSubject& s) {
  return exact_products(s, [](double value, double product) {
    return value != 1 && (value == 0 || (product >= 0x1p-126 && product < 0x1p128));
  });
}

}  // namespace shardcheck
