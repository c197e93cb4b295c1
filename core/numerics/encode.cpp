// The readable encoder. Speed is narrow.h's business; this one is what fast casts are compared with.
#include "core/numerics/encode.h"

#include <bit>

#include "core/assert.h"

namespace shardcheck {
namespace {

constexpr std::uint32_t kInfinityBits = 0x7f800000u;

/// significand >> shift, rounded; `inexact` adds a tail below the last bit of the significand.
std::uint64_t shift_right_rounded(const Dyadic& value, int shift, Rounding rounding) {
  // 65 and more leave less than half of the last place: a significand has 64 bits.
  if (shift > 64) return 0;
  const std::uint64_t kept = shift == 64 ? 0 : value.significand >> shift;
  if (rounding == Rounding::toward_zero) return kept;
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = shift == 64 ? value.significand : value.significand & (2 * half - 1);
  const bool above_half = rest > half || (rest == half && value.inexact);
  const bool tie = rest == half && !value.inexact;
  return kept + (above_half || (tie && kept % 2 == 1));
}

/// The magnitude code on a grid without upper end. The hidden bit and every carry run into the exponent field
/// by plain addition, so a subnormal that rounds up becomes the smallest normal number without a special
/// case.
std::uint64_t unbounded_code(const Format& format, Rounding rounding, const Dyadic& value) {
  if (value.significand == 0) return 0;
  const int top_exponent = value.exponent + std::bit_width(value.significand) - 1;
  const int smallest = format.smallest_exponent();
  const int binade = top_exponent > smallest ? top_exponent : smallest;
  const int grid_exponent = binade - format.mantissa_bits;  // one step of the grid is 2^grid_exponent
  const int shift = grid_exponent - value.exponent;
  SC_ASSERT(!value.inexact || shift > 0, "encode: the unknown tail reaches the rounding position");
  const std::uint64_t steps =
      shift > 0 ? shift_right_rounded(value, shift, rounding) : value.significand << -shift;
  return (static_cast<std::uint64_t>(binade - smallest) << format.mantissa_bits) + steps;
}

/// Infinity, or NaN where there is none, or the largest number where there is neither; with the sign of the
/// value.
std::uint32_t special_code(const Format& format, std::uint32_t sign) {
  if (format.has_infinity()) return format.infinity_code | sign;
  if (format.encoding == Encoding::fnuz) return format.nan_code;
  return (format.has_nan() ? format.nan_code : format.max_code) | sign;
}

std::uint32_t overflow_code(const Format& format, const CastPolicy& policy, std::uint32_t sign) {
  if (policy.finite_overflow == FiniteOverflow::saturate) return format.max_code | sign;
  return special_code(format, sign);
}

std::uint32_t nan_code(const Format& format, const CastPolicy& policy, std::uint32_t sign) {
  if (format.encoding == Encoding::fnuz) return format.nan_code;
  const std::uint32_t kept_sign = policy.nan_sign == NanSign::keep ? sign : 0;
  if (policy.nan_code == NanCode::all_ones_or_max) {
    return (format.has_nan() ? format.nan_code : format.max_code) | kept_sign;
  }
  if (format.has_nan()) return format.quiet_nan_code | kept_sign;
  return kept_sign ^ format.sign_mask();
}

}  // namespace

std::uint32_t encode(const Format& format, const CastPolicy& policy, const Dyadic& value) {
  SC_ASSERT(format.encoding != Encoding::power_of_two, "encode: E8M0 is encoded by encode_e8m0");
  SC_ASSERT(!value.negative || format.sign_bits == 1 || value.significand == 0,
            "encode: a negative number has no code in an unsigned format");
  const std::uint32_t sign = value.negative ? format.sign_mask() : 0;
  const std::uint64_t code = unbounded_code(format, policy.rounding, value);
  if (code > format.max_code) return overflow_code(format, policy, sign);
  if (code == 0 && format.encoding == Encoding::fnuz) return 0;  // no -0
  return static_cast<std::uint32_t>(code) | sign;
}

std::uint32_t encode(const Format& format, const CastPolicy& policy, std::uint32_t f32_bits) {
  const bool negative = f32_bits >> 31 != 0;
  const std::uint32_t sign = negative ? format.sign_mask() : 0;
  const std::uint32_t magnitude = f32_bits & 0x7fffffffu;
  if (magnitude > kInfinityBits) return nan_code(format, policy, sign);
  if (magnitude == kInfinityBits) {
    return policy.infinity == InfinityRule::as_overflow ? overflow_code(format, policy, sign)
                                                        : special_code(format, sign);
  }
  const std::uint32_t exponent = magnitude >> 23;
  const std::uint32_t significand = (magnitude & 0x7fffffu) | (exponent != 0 ? 0x800000u : 0u);
  const int effective_exponent = exponent == 0 ? 1 : static_cast<int>(exponent);
  return encode(format, policy, Dyadic{negative, significand, effective_exponent - 150, false});
}

std::uint8_t encode_e8m0(std::uint32_t f32_bits, PowerOfTwoRounding rounding, FiniteOverflow overflow) {
  constexpr std::uint8_t kMax = 0xFE;
  constexpr std::uint8_t kNan = 0xFF;
  const std::uint8_t too_large = overflow == FiniteOverflow::saturate ? kMax : kNan;
  const std::uint32_t magnitude = f32_bits & 0x7fffffffu;
  if (magnitude > kInfinityBits) return kNan;
  if (magnitude == kInfinityBits) return too_large;

  const std::uint8_t exponent = static_cast<std::uint8_t>(magnitude >> 23);
  const std::uint32_t mantissa = magnitude & 0x7fffffu;
  // Code 0 means 2^-127, which is the fp32 subnormal 0x00400000: everything up to it rounds up to code 0, and
  // only a quarter of a binade lies between it and halfway to code 1.
  const std::uint32_t power = exponent == 0 ? 0x400000u : 0;
  const std::uint32_t halfway = exponent == 0 ? 0x600000u : 0x400000u;
  const bool ascends = [&] {
    switch (rounding) {
      case PowerOfTwoRounding::up: return mantissa > power;
      case PowerOfTwoRounding::down: return false;
      case PowerOfTwoRounding::nearest_even:
        return mantissa > halfway || (mantissa == halfway && exponent % 2 == 1);
      case PowerOfTwoRounding::nearest_up: return mantissa >= halfway;
    }
    assertion_failed("rounding", "an unnamed rounding of a power of two");
  }();
  if (!ascends) return exponent;
  return exponent == kMax ? too_large : static_cast<std::uint8_t>(exponent + 1);
}

}  // namespace shardcheck
