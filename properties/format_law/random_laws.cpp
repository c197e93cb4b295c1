#include "properties/format_law/random_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/numerics/philox.h"

namespace shardcheck {
namespace {

/// Numbers of a case whose draws are all tried: each costs 2^k roundings.
constexpr std::size_t kMostNumbers = 3;

/// Where a magnitude lies between two numbers of the format.
struct Neighbours {
  double below, above;  ///< above: one step of the grid further
  double fraction;      ///< of the step, in [0, 1)
};
Neighbours neighbours_of(const TableRow& row, double x) {
  int exponent = 0;
  std::frexp(std::max(x, row.smallest_normal), &exponent);  // in [2^(exponent-1), 2^exponent)
  const double step = std::ldexp(1.0, exponent - 1 - row.mantissa_bits);
  const double below = std::floor(x / step) * step;
  return {below, below + step, (x - below) / step};
}

RandomBits bits_at(const FormatCase& c, std::uint64_t index) {
  const std::uint32_t word = philox(c.seed, 0, index)[0];
  return {c.random_bits, word & ((1u << c.random_bits) - 1)};
}

}  // namespace

FormatVerdict draws_by_fraction(const FormatEvidence& e) {
  std::size_t tried = 0;
  for (const CastNumber& number : e.inputs) {
    const double x = std::abs(number.value());
    if (!number.is_finite() || x >= e.row.largest) continue;
    if (++tried > kMostNumbers) break;
    const Neighbours around = neighbours_of(e.row, x);
    const int draws = 1 << e.asked.random_bits;
    int up = 0;
    for (int draw = 0; draw < draws; ++draw) {
      const RandomBits random{e.asked.random_bits, static_cast<std::uint32_t>(draw)};
      const std::uint32_t code = e.machine.rules().drawn(e.cast, number.bits, random);
      const TableNumber drawn = table_number(e.row, code);
      if (drawn.is != NumberClass::finite ||
          (drawn.magnitude != around.below && drawn.magnitude != around.above))
        return fmt::format("{} is drawn to {}, which is no neighbour", number.value(), drawn.value());
      up += drawn.magnitude == around.above ? 1 : 0;
    }
    const int expected = static_cast<int>(std::floor(std::ldexp(around.fraction, e.asked.random_bits)));
    if (up != expected)
      return fmt::format("{} goes up in {} of {} draws, not in {}", number.value(), up, draws, expected);
  }
  return std::nullopt;
}

FormatVerdict draws_keep_codes(const FormatEvidence& e) {
  const NumberRules& rules = e.machine.rules();
  for (std::size_t i = 0; i < e.numbers.size(); ++i) {
    if (table_number(e.row, e.codes[i]).is != NumberClass::finite) continue;
    const RandomBits random = bits_at(e.asked, i);
    const std::uint32_t code = rules.drawn(e.cast, e.numbers[i].bits, random);
    if (code != e.codes[i])
      return fmt::format("the number of code 0x{:02x} is drawn to 0x{:02x} by {}", e.codes[i], code,
                         random.value);
  }
  for (std::size_t i = 0; i < std::min(e.inputs.size(), kMostNumbers); ++i) {
    const RandomBits random = bits_at(e.asked, i);
    const std::uint32_t bits = e.inputs[i].bits;
    if (rules.drawn(e.cast, bits, random) != rules.drawn(e.cast, bits, random))
      return fmt::format("{} has two codes by one draw", e.inputs[i].value());
  }
  return std::nullopt;
}

}  // namespace shardcheck
