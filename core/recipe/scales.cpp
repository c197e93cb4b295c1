// One small function a formula. Every `float` operation below is one rounding to nearest even; none is fused.
#include "core/recipe/scales.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/assert.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"

namespace shardcheck::recipe {
namespace {

constexpr float kLargestF32 = std::numeric_limits<float>::max();

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

float without_mantissa(float value) {
  return std::bit_cast<float>(bits_of(value) & 0xff800000u);
}

BlockScale from_factor(float factor) {
  const float inverse = 1.0f / factor;
  return {bits_of(inverse), factor, inverse};
}

/// AO, fp8 3.2. NaN arrives because a comparison with it is false.
BlockScale quotient_f64(const Recipe& recipe, float largest, float amax) {
  const double wide = static_cast<double>(amax);
  const double clamped = wide < recipe.epsilon ? recipe.epsilon : wide;
  const auto factor = static_cast<float>(static_cast<double>(largest) / clamped);
  return from_factor(
      recipe.power_of_two == PowerOfTwo::down && std::isfinite(factor) ? without_mantissa(factor) : factor);
}

/// Codes 1 to 254 of E8M0 as fp32 (fp8 3.3, the variant that ceils).
float power_of_two_up(float value) {
  const int code = encode_e8m0(bits_of(value), PowerOfTwoRounding::up, FiniteOverflow::saturate);
  if (std::isnan(value)) return value;
  return decode(format_of(FormatId::e8m0), static_cast<std::uint32_t>(std::max(code, 1)));
}

/// DG, fp8 3.3.
BlockScale inverse_quotient(const Recipe& recipe, float largest, float amax) {
  const auto epsilon = static_cast<float>(recipe.epsilon);
  float inverse = (amax < epsilon ? epsilon : amax) / largest;
  if (recipe.power_of_two == PowerOfTwo::up) inverse = power_of_two_up(inverse);
  return {bits_of(inverse), 1.0f / inverse, inverse};
}

/// floor(log2 a) - emax or ceil(log2 a) - emax as an E8M0 code, clipped to [0, 254]; fp8 2.5.
std::uint32_t exponent_code(FormatId elements, PowerOfTwoRounding rounding, double amax) {
  if (!std::isfinite(amax)) return format_of(FormatId::e8m0).nan_code;
  if (amax == 0) return 0;
  int exponent = std::ilogb(amax);
  if (rounding == PowerOfTwoRounding::up && std::ldexp(1.0, exponent) < amax) ++exponent;
  return static_cast<std::uint32_t>(std::clamp(exponent - std::ilogb(largest_of(elements)) + 127, 0, 254));
}

std::uint32_t power_of_two_code(ScaleFormula formula, FormatId elements, float amax) {
  const float largest = largest_of(elements);
  constexpr auto up = PowerOfTwoRounding::up;
  constexpr auto down = PowerOfTwoRounding::down;
  switch (formula) {
    case ScaleFormula::ratio_up_reciprocal:
      return encode_e8m0(bits_of(amax * (1.0f / largest)), up, FiniteOverflow::saturate);
    case ScaleFormula::ratio_up: return encode_e8m0(bits_of(amax / largest), up, FiniteOverflow::to_special);
    case ScaleFormula::exponent_down: return exponent_code(elements, down, amax);
    case ScaleFormula::exponent_up: return exponent_code(elements, up, amax);
    case ScaleFormula::exponent_even: {
      if (!std::isfinite(amax) || amax == 0) return exponent_code(elements, down, amax);
      // Half of the last kept place carries into the exponent exactly when the mantissa rounds up to 2.
      const int half = std::ilogb(amax) - format_of(elements).mantissa_bits - 1;
      return exponent_code(elements, down, static_cast<double>(amax) + std::ldexp(1.0, half));
    }
    default: assertion_failed("formula", "the formula gives no power of two");
  }
}

/// fp8 3.5.
BlockScale under_tensor(const TensorScale& tensor, FormatId elements, float amax) {
  const Format& format = format_of(FormatId::ue4m3);
  const float wanted = amax * (tensor.factor * (1.0f / largest_of(elements)));
  const std::uint32_t code = encode(format, kNvSaturating, bits_of(wanted));
  const float value = decode(format, code);
  return {code, std::fmin(1.0f / (value * tensor.inverse), kLargestF32), value};
}

BlockScale by_formula(const Recipe& recipe, FormatId elements, const BlockInputs& inputs) {
  const float amax = inputs.amax, largest = largest_of(elements);
  switch (recipe.formula) {
    case ScaleFormula::quotient:
      return from_factor(
          scale_from_amax({.largest = largest,
                           .epsilon = static_cast<float>(recipe.epsilon),
                           .power_of_two = recipe.power_of_two,
                           .value_for_infinity = std::bit_cast<float>(recipe.value_for_infinity)},
                          amax));
    case ScaleFormula::quotient_f64: return quotient_f64(recipe, largest, amax);
    case ScaleFormula::inverse_quotient: return inverse_quotient(recipe, largest, amax);
    case ScaleFormula::two_level: return under_tensor(inputs.tensor, elements, amax);
    default: return power_of_two_scale(power_of_two_code(recipe.formula, elements, amax));
  }
}

}  // namespace

float largest_of(FormatId format) {
  const Format& of = format_of(format);
  if (format == FormatId::f32) return kLargestF32;
  // The largest code is a normal number: its fields are moved to fp32's, which scales of blocks ask for
  // often.
  const std::uint32_t exponent =
      (of.max_code >> of.mantissa_bits) + static_cast<std::uint32_t>(127 - of.bias);
  const std::uint32_t mantissa = of.max_code & ((1u << of.mantissa_bits) - 1);
  return std::bit_cast<float>(exponent << 23 | mantissa << (23 - of.mantissa_bits));
}

BlockScale power_of_two_scale(std::uint32_t code) {
  const float inverse = decode(format_of(FormatId::e8m0), code);
  return {code, std::isnan(inverse) ? inverse : std::ldexp(1.0f, 127 - static_cast<int>(code)), inverse};
}

float scale_from_amax(const QuotientRule& rule, float amax) {
  const float raised = amax < rule.epsilon ? rule.epsilon : amax;  // NaN compares false
  if (!std::isfinite(raised) || raised == 0) return 1.0f;
  float scale = rule.largest / raised;
  if (std::isinf(scale)) scale = rule.value_for_infinity;
  return rule.power_of_two == PowerOfTwo::down ? without_mantissa(scale) : scale;
}

TensorScale tensor_scale_of(const Recipe& recipe, FormatId elements, float tensor_amax) {
  if (recipe.formula != ScaleFormula::two_level) return {};
  const float quotient = largest_of(FormatId::ue4m3) * largest_of(elements) / tensor_amax;
  const bool is_one = tensor_amax == 0 || quotient == 0;
  const float encode = is_one ? 1.0f : std::fmin(quotient, kLargestF32);
  return {encode, 1.0f / encode};
}

BlockScale block_scale(const Recipe& recipe, FormatId elements, const BlockInputs& inputs) {
  BlockScale scale = by_formula(recipe, elements, inputs);
  if (recipe.use == ScaleUse::divide) scale.factor = scale.inverse;
  return scale;
}

Scales scales_of(const Recipe& recipe, FormatId elements, const ScaleInputs& inputs) {
  Scales scales;
  if (recipe.formula == ScaleFormula::given) {
    BlockScale given = from_factor(inputs.given);
    if (recipe.use == ScaleUse::divide) given.factor = given.inverse;
    scales.blocks.assign(inputs.amaxes.size(), given);
    return scales;
  }
  const TensorScale tensor = tensor_scale_of(recipe, elements, inputs.tensor_amax);
  scales.tensor_factor = tensor.factor;
  scales.tensor_inverse = tensor.inverse;
  scales.blocks.reserve(inputs.amaxes.size());
  for (const float amax : inputs.amaxes)
    scales.blocks.push_back(block_scale(recipe, elements, {tensor, amax}));
  return scales;
}

}  // namespace shardcheck::recipe
