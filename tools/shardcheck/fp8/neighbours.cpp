#include "tools/shardcheck/fp8/neighbours.h"

#include "core/assert.h"
#include "core/numerics/decode.h"

namespace shardcheck::fp8 {
namespace {

/// The largest code whose value is not above the magnitude, or nothing.
std::optional<std::uint32_t> code_below(const Format& format, double magnitude) {
  if (static_cast<double>(decode(format, 0)) > magnitude) return std::nullopt;
  std::uint32_t low = 0, high = format.max_code + 1;  // decode(low) <= magnitude < decode(high)
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (static_cast<double>(decode(format, middle)) <= magnitude ? low : high) = middle;
  }
  return low;
}

}  // namespace

Neighbours neighbours_of(const Format& format, double magnitude) {
  SC_ASSERT(magnitude >= 0, "neighbours are those of a finite magnitude");
  Neighbours found{};
  found.below = code_below(format, magnitude);
  if (!found.below) {  // E8M0 has no zero
    found.above = 0;
    found.value_above = decode(format, 0);
    found.midpoint = found.value_above / 2;
    return found;
  }
  found.value_below = decode(format, *found.below);
  if (found.value_below == magnitude) {
    found.above = found.below;
    found.value_above = found.midpoint = found.value_below;
    return found;
  }
  if (*found.below < format.max_code) {
    found.above = *found.below + 1;
    found.value_above = decode(format, *found.above);
  } else if (format.encoding == Encoding::power_of_two) {
    found.value_above = 2 * found.value_below;
  } else {
    found.value_above = 2 * found.value_below - static_cast<double>(decode(format, *found.below - 1));
  }
  found.midpoint = found.value_below + (found.value_above - found.value_below) / 2;
  return found;
}

}  // namespace shardcheck::fp8
