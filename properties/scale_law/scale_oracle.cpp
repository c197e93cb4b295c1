#include "properties/scale_law/scale_oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/assert.h"
#include "properties/format_law/number_table.h"

namespace shardcheck {
namespace {

using namespace recipe;

constexpr double kMost = std::numeric_limits<float>::max();
constexpr std::uint32_t kNanCode = 255, kLastCode = 254;

/// One rounding to fp32.
double rounded(double value) {
  return static_cast<double>(static_cast<float>(value));
}
std::uint32_t bits_of(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}
double power(int exponent) {
  return std::ldexp(1.0, exponent);
}
int floor_log2(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return exponent - 1;
}

BlockScale from_factor(double factor) {
  const double inverse = rounded(1.0 / factor);
  return {bits_of(inverse), static_cast<float>(factor), static_cast<float>(inverse)};
}
BlockScale from_inverse(double inverse) {
  return {bits_of(inverse), static_cast<float>(1.0 / inverse), static_cast<float>(inverse)};
}
BlockScale from_code(std::uint32_t code) {
  if (code == kNanCode) return {code, NAN, NAN};
  const int exponent = static_cast<int>(code) - 127;
  return {code, static_cast<float>(power(-exponent)), static_cast<float>(power(exponent))};
}

BlockScale quotient(const Recipe& recipe, double largest, double amax) {
  if (amax < rounded(recipe.epsilon)) amax = rounded(recipe.epsilon);
  if (!(amax > 0) || std::isinf(amax)) return from_factor(1);  // NaN too
  double factor = rounded(largest / amax);
  if (std::isinf(factor)) factor = static_cast<double>(std::bit_cast<float>(recipe.value_for_infinity));
  return from_factor(recipe.power_of_two == PowerOfTwo::down ? power(floor_log2(factor)) : factor);
}

BlockScale quotient_f64(const Recipe& recipe, double largest, double amax) {
  const double factor = rounded(largest / (amax < recipe.epsilon ? recipe.epsilon : amax));
  const bool is_cut = recipe.power_of_two == PowerOfTwo::down && std::isfinite(factor) && factor > 0;
  return from_factor(is_cut ? power(floor_log2(factor)) : factor);
}

BlockScale inverse_quotient(const Recipe& recipe, double largest, double amax) {
  const double epsilon = rounded(recipe.epsilon);
  double inverse = rounded((amax < epsilon ? epsilon : amax) / largest);
  if (recipe.power_of_two == PowerOfTwo::up && !std::isnan(inverse)) {
    int exponent = -126;
    while (exponent < 127 && power(exponent) < inverse) ++exponent;
    inverse = power(exponent);
  }
  return from_inverse(inverse);
}

/// The code of the least power of two that is not below the ratio.
std::uint32_t code_up(double ratio, std::uint32_t code_of_infinity) {
  if (std::isnan(ratio)) return kNanCode;
  if (std::isinf(ratio)) return code_of_infinity;
  std::uint32_t code =
      ratio <= 0 ? 0 : static_cast<std::uint32_t>(std::clamp(floor_log2(ratio) + 126, 0, 254));
  while (code < kLastCode && power(static_cast<int>(code) - 127) < ratio) ++code;
  return code;
}

std::uint32_t code_of_exponent(ScaleFormula formula, FormatId elements, double amax) {
  if (!std::isfinite(amax)) return kNanCode;
  if (amax == 0) return 0;
  int exponent = floor_log2(amax);
  const double mantissa = amax / power(exponent);
  if (formula == ScaleFormula::exponent_up && mantissa > 1) ++exponent;
  // Half of the last kept place below 2.
  if (formula == ScaleFormula::exponent_even && mantissa >= 2 - power(-table_row(elements).mantissa_bits - 1))
    ++exponent;
  const int most = floor_log2(table_row(elements).largest);
  return static_cast<std::uint32_t>(std::clamp(exponent - most + 127, 0, 254));
}

/// The nearest code of E4M3 to a magnitude, ties to even, not above the largest; by the table.
std::uint32_t nearest_e4m3(double x) {
  const TableRow& row = table_row(FormatId::ue4m3);
  std::uint32_t best = 0;
  for (std::uint32_t code = 1; table_number(row, code).is == NumberClass::finite; ++code) {
    const double distance = std::abs(table_number(row, code).magnitude - x);
    const double held = std::abs(table_number(row, best).magnitude - x);
    if (distance < held || (distance == held && code % 2 == 0)) best = code;
  }
  return best;
}

BlockScale two_level(FormatId elements, double tensor_amax, double amax) {
  const double largest = table_row(elements).largest, quotient = rounded(448 * largest / tensor_amax);
  const double encode = tensor_amax == 0 || quotient == 0 ? 1 : std::fmin(quotient, kMost);
  const double decode = rounded(1 / encode);
  const std::uint32_t code = nearest_e4m3(rounded(amax * rounded(encode * rounded(1 / largest))));
  const double value = table_number(table_row(FormatId::ue4m3), code).magnitude;
  const double factor = std::fmin(rounded(1 / rounded(value * decode)), kMost);
  return {code, static_cast<float>(factor), static_cast<float>(value)};
}

}  // namespace

BlockScale expected_scale(const Recipe& recipe, FormatId elements, const ScaleInputs& inputs, float amax) {
  const double a = static_cast<double>(amax), largest = table_row(elements).largest;
  constexpr std::uint32_t kSaturated = kLastCode;
  switch (recipe.formula) {
    case ScaleFormula::given: return from_factor(static_cast<double>(inputs.given));
    case ScaleFormula::quotient: return quotient(recipe, largest, a);
    case ScaleFormula::quotient_f64: return quotient_f64(recipe, largest, a);
    case ScaleFormula::inverse_quotient: return inverse_quotient(recipe, largest, a);
    case ScaleFormula::ratio_up_reciprocal:
      return from_code(code_up(rounded(a * rounded(1 / largest)), kSaturated));
    case ScaleFormula::ratio_up: return from_code(code_up(rounded(a / largest), kNanCode));
    case ScaleFormula::two_level: return two_level(elements, static_cast<double>(inputs.tensor_amax), a);
    default: return from_code(code_of_exponent(recipe.formula, elements, a));
  }
}

}  // namespace shardcheck
