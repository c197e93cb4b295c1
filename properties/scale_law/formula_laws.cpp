#include "properties/scale_law/formula_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/numerics/decode.h"
#include "core/numerics/encode.h"
#include "properties/scale_law/scale_oracle.h"

namespace shardcheck {
namespace {

using namespace recipe;

bool is_same_stored(const Recipe& recipe, std::uint32_t a, std::uint32_t b) {
  if (recipe.scale_format != FormatId::f32) return a == b;
  return is_same_number(std::bit_cast<float>(a), std::bit_cast<float>(b));
}

/// A recipe whose scale is a power of two.
bool is_power(const Recipe& recipe) {
  return recipe.power_of_two != PowerOfTwo::no || is_power_of_two_code(recipe.formula);
}

bool is_fine(float scale) {
  return std::isfinite(scale) && scale > 0;
}

}  // namespace

ScaleVerdict follows_its_formula(const ScaleSubject& s) {
  const AskedScales& q = s.asked;
  const ScaleInputs inputs{.amaxes = q.amaxes, .tensor_amax = q.tensor_amax, .given = s.c.scale};
  for (std::size_t i = 0; i < q.amaxes.size(); ++i) {
    const BlockScale expected = expected_scale(s.recipe, s.elements, inputs, q.amaxes[i]);
    const BlockScale& actual = q.scales.blocks[i];
    const bool is_right = is_same_stored(s.recipe, expected.stored, actual.stored) &&
                          is_same_number(expected.factor, actual.factor) &&
                          is_same_number(expected.inverse, actual.inverse);
    if (!is_right)
      return fmt::format(
          "an amax of {} (0x{:08x}) gives the factor {}, stored 0x{:x}; the formula gives {} and 0x{:x}",
          q.amaxes[i], std::bit_cast<std::uint32_t>(q.amaxes[i]), actual.factor, actual.stored,
          expected.factor, expected.stored);
  }
  return std::nullopt;
}

ScaleVerdict is_finite(const ScaleSubject& s) {
  const AskedScales& q = s.asked;
  const ScaleFormula formula = s.recipe.formula;
  if (formula == ScaleFormula::given) return std::nullopt;
  const bool speaks_of_infinity =
      formula == ScaleFormula::quotient || formula == ScaleFormula::ratio_up_reciprocal;
  const bool is_two_level = formula == ScaleFormula::two_level;
  for (std::size_t i = 0; i < q.amaxes.size(); ++i) {
    const float amax = q.amaxes[i];
    const BlockScale& scale = q.scales.blocks[i];
    const float stored = decode(format_of(s.recipe.scale_format), scale.stored);
    if (std::isinf(amax) && !speaks_of_infinity) continue;
    if (std::isnan(amax) && s.recipe.amax_nan == AmaxNan::propagate) {
      if (!std::isnan(stored)) return fmt::format("an amax of NaN gives the stored scale {}", stored);
      continue;
    }
    // TE's MX formula has a code for NaN, where one came through a maximum that drops them.
    if (std::isnan(amax) && formula == ScaleFormula::ratio_up_reciprocal) continue;
    const bool is_stored_fine = is_two_level ? std::isfinite(stored) : is_fine(stored);
    const bool is_inverse_fine = is_two_level ? std::isfinite(scale.inverse) : is_fine(scale.inverse);
    if (!is_fine(scale.factor) || !is_stored_fine || !is_inverse_fine)
      return fmt::format("an amax of {} gives the factor {}, inverse {}, stored {}", amax, scale.factor,
                         scale.inverse, stored);
  }
  return std::nullopt;
}

ScaleVerdict stores_its_inverse(const ScaleSubject& s) {
  const ScaleFormula formula = s.recipe.formula;
  if (formula == ScaleFormula::two_level) return std::nullopt;
  const AskedScales& q = s.asked;
  for (std::size_t i = 0; i < q.amaxes.size(); ++i) {
    const BlockScale& scale = q.scales.blocks[i];
    if (!is_fine(scale.factor) || !is_fine(scale.inverse)) continue;
    const double factor = static_cast<double>(scale.factor), inverse = static_cast<double>(scale.inverse);
    const bool is_stored =
        is_same_number(decode(format_of(s.recipe.scale_format), scale.stored), scale.inverse);
    const bool is_reciprocal = formula == ScaleFormula::inverse_quotient
                                   ? scale.factor == static_cast<float>(1.0 / inverse)
                                   : scale.inverse == static_cast<float>(1.0 / factor);
    const bool is_exact = !is_power(s.recipe) || factor * inverse == 1;
    if (!is_stored || !is_reciprocal || !is_exact)
      return fmt::format("an amax of {} gives the factor {} and the inverse {}, stored as 0x{:x}",
                         q.amaxes[i], scale.factor, scale.inverse, scale.stored);
  }
  return std::nullopt;
}

ScaleVerdict raises_amax_only(const ScaleSubject& s) {
  const ScaleFormula formula = s.recipe.formula;
  const bool has_epsilon = formula == ScaleFormula::quotient || formula == ScaleFormula::quotient_f64 ||
                           formula == ScaleFormula::inverse_quotient;
  const std::vector<float> amaxes = s.exact_amaxes();
  if (!has_epsilon || !s.is_plain()) return std::nullopt;
  const float middle = amaxes[s.c.seed % amaxes.size()];
  for (const float epsilon : {middle / 2, middle, 2 * middle}) {
    Recipe raised = s.recipe, plain = s.recipe;
    raised.epsilon = static_cast<double>(epsilon);
    plain.epsilon = 0;
    std::vector<float> larger = amaxes;
    for (float& amax : larger) amax = std::max(amax, epsilon);
    // Nothing is larger than an amax of zero and an epsilon of zero.
    if (epsilon == 0) continue;
    const Scales expected = s.machine.scales(plain, s.elements, {.amaxes = larger});
    const Scales actual = s.machine.scales(raised, s.elements, {.amaxes = amaxes});
    for (std::size_t b = 0; b < amaxes.size(); ++b) {
      if (!(expected.blocks[b] == actual.blocks[b]))
        return fmt::format("with epsilon {} an amax of {} gives the factor {}, and {} gives {}", epsilon,
                           amaxes[b], actual.blocks[b].factor, larger[b], expected.blocks[b].factor);
    }
    const QuantizedCopy copy = s.machine.quantized(raised, s.wanted(Direction::row), s.matrix);
    for (std::size_t i = 0; i < s.matrix.values.size(); ++i) {
      const float scaled = s.matrix.values[i] * actual.blocks[s.block_of(i)].factor;
      const std::uint32_t code = encode(s.format, s.recipe.cast, std::bit_cast<std::uint32_t>(scaled));
      if (code != copy.codes[i])
        return fmt::format("with epsilon {} the number {} has code 0x{:02x}, and 0x{:02x} by its scale",
                           epsilon, s.matrix.values[i], copy.codes[i], code);
    }
  }
  return std::nullopt;
}

}  // namespace shardcheck
