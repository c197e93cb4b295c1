#include "properties/scale_law/pairing_laws.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdlib>

#include "core/numerics/decode.h"

namespace shardcheck {
namespace {

using namespace recipe;

bool is_power(const Recipe& recipe) {
  return recipe.power_of_two != PowerOfTwo::no || is_power_of_two_code(recipe.formula);
}

/// Formulas that make a scale of the block's own amax.
bool has_own_scale(const ScaleSubject& s) {
  return s.is_plain() && s.recipe.formula != ScaleFormula::given &&
         s.recipe.formula != ScaleFormula::two_level;
}

/// Stored inverses, one a block of rows.
std::vector<float> inverses_of(const ScaleSubject& s, const QuantizedCopy& copy) {
  std::vector<float> inverses;
  for (const std::uint32_t bits : grid_in(copy.scales, s.recipe.row_scales))
    inverses.push_back(decode(format_of(s.recipe.scale_format), bits));
  return inverses;
}

/// Steps between two positive fp32 numbers.
std::int64_t ulps(float a, float b) {
  return std::abs(std::int64_t{std::bit_cast<std::int32_t>(a)} -
                  std::int64_t{std::bit_cast<std::int32_t>(b)});
}

ScaleVerdict keeps_codes_of_fp32(const ScaleSubject& s, const QuantizedCopy& first,
                                 const QuantizedCopy& second) {
  for (std::size_t i = 0; i < first.codes.size(); ++i) {
    if (first.codes[i] != second.codes[i])
      return fmt::format("quantised again, element {} has code 0x{:02x} and had 0x{:02x}", i, second.codes[i],
                         first.codes[i]);
  }
  const std::vector<float> before = inverses_of(s, first), after = inverses_of(s, second);
  constexpr std::int64_t kMostUlps = 2;
  for (std::size_t b = 0; b < before.size(); ++b) {
    if (ulps(before[b], after[b]) > kMostUlps)
      return fmt::format("quantised again, block {} has the inverse {} and had {}", b, after[b], before[b]);
  }
  return std::nullopt;
}

ScaleVerdict keeps_numbers(const ScaleSubject& s, const QuantizedCopy& first, const QuantizedCopy& second) {
  const std::vector<float> before = s.machine.dequantized(s.recipe, first);
  const std::vector<float> after = s.machine.dequantized(s.recipe, second);
  const std::vector<float> old_scales = inverses_of(s, first), new_scales = inverses_of(s, second);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::size_t b = s.block_of(i);
    if (!is_same_number(before[i], after[i]))
      return fmt::format("quantised again, element {} is {} and was {}", i, after[i], before[i]);
    if (old_scales[b] == new_scales[b] && first.codes[i] != second.codes[i])
      return fmt::format("quantised again by the same scale, element {} has code 0x{:02x} and had 0x{:02x}",
                         i, second.codes[i], first.codes[i]);
  }
  return std::nullopt;
}

}  // namespace

ScaleVerdict survives_requantisation(const ScaleSubject& s) {
  if (!has_own_scale(s)) return std::nullopt;
  const QuantizedCopy first = s.machine.quantized(s.recipe, s.wanted(Direction::row), s.matrix);
  const PaddedMatrix decoded(s.matrix.extent, s.machine.dequantized(s.recipe, first), 0.0f);
  const QuantizedCopy second = s.machine.quantized(s.recipe, s.wanted(Direction::row), decoded.matrix());
  return is_power(s.recipe) ? keeps_numbers(s, first, second) : keeps_codes_of_fp32(s, first, second);
}

ScaleVerdict scale_fits_codes(const ScaleSubject& s) {
  if (!has_own_scale(s)) return std::nullopt;
  const QuantizedCopy copy = s.machine.quantized(s.recipe, s.wanted(Direction::row), s.matrix);
  const std::vector<float> back = s.machine.dequantized(s.recipe, copy);
  // Rounding to the format moves a normal number by u of itself, and three roundings of fp32 hardly more.
  const double most = std::ldexp(1.0 + 0x1p-10, -s.format.mantissa_bits - 1);
  const std::uint32_t first_normal = 1u << s.format.mantissa_bits;
  struct Seen {
    bool any = false, near = false;
  };
  std::vector<Seen> blocks(static_cast<std::size_t>(s.blocks.count()));
  for (std::size_t i = 0; i < back.size(); ++i) {
    const std::uint32_t magnitude = copy.codes[i] & s.format.magnitude_mask();
    // The largest code may be a number that saturated (fp8 2.5, FLOOR), and that of the smallest normal
    // number one that was subnormal.
    if (s.matrix.values[i] == 0 || magnitude <= first_normal || magnitude >= s.format.max_code) continue;
    const double ratio = static_cast<double>(back[i]) / static_cast<double>(s.matrix.values[i]);
    Seen& seen = blocks[s.block_of(i)];
    seen.any = true;
    seen.near = seen.near || std::abs(ratio - 1) <= most;
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].any && !blocks[b].near)
      return fmt::format("no number of block {} comes back near: its scale is not that of its codes", b);
  }
  return std::nullopt;
}

}  // namespace shardcheck
