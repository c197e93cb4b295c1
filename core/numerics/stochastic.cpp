// The draw enters as a number: the part below the last kept place becomes a whole number of 2^-k steps, and
// only whether it carries is used. Both codes come from the one encoder.
#include "core/numerics/stochastic.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/assert.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"

namespace shardcheck {
namespace {

/// The grid step 2^q at a magnitude of at least 0: q = max(floor(log2 magnitude), emin) - m (fp8 2.1).
int step_exponent(const Format& format, double magnitude) {
  const int binade = magnitude == 0 ? format.smallest_exponent() : std::ilogb(magnitude);
  return std::max(binade, format.smallest_exponent()) - format.mantissa_bits;
}

}  // namespace

std::uint32_t encode_stochastic(const Format& format, const CastPolicy& policy, std::uint32_t f32_bits,
                                RandomBits random) {
  SC_ASSERT(random.count >= 1 && random.count <= 32, "stochastic rounding takes 1 to 32 random bits");
  const std::uint64_t draws = std::uint64_t{1} << random.count;
  SC_ASSERT(random.value < draws, "the draw has more bits than declared");
  const auto value = static_cast<double>(std::bit_cast<float>(f32_bits));
  if (!std::isfinite(value)) return encode(format, policy, f32_bits);

  // All in double and exact: fp32 has 24 significant bits, and scaling is by powers of two.
  const int exponent = step_exponent(format, std::abs(value));
  const double steps = std::ldexp(std::abs(value), -exponent);
  const double whole = std::floor(steps);
  const auto part = static_cast<std::uint64_t>(std::floor((steps - whole) * static_cast<double>(draws)));
  const double kept = part + random.value >= draws ? whole + 1 : whole;
  const Dyadic rounded{std::signbit(value), static_cast<std::uint64_t>(kept), exponent, false};
  return encode(format, policy, rounded);
}

}  // namespace shardcheck
