// The readable decoder: sign, exponent and mantissa fields, then one scaling by a power of two.
#include "core/numerics/decode.h"

#include <bit>
#include <cmath>
#include <limits>

#include "core/assert.h"

namespace shardcheck {

float decode(const Format& format, std::uint32_t code) {
  // Every number and NaN of fp32 is already what it means; a shift by its width of 32 would not be defined.
  if (format.id == FormatId::f32) return std::bit_cast<float>(code);
  SC_ASSERT(code < format.code_count(), "decode: the code is wider than the format");

  const float sign = (code & format.sign_mask()) != 0 ? -1.0f : 1.0f;
  if (format.is_nan(code)) return std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
  if (format.is_infinity(code)) return sign * std::numeric_limits<float>::infinity();

  const int mantissa_bits = format.mantissa_bits;
  const int mantissa = static_cast<int>(code & ((1u << mantissa_bits) - 1));
  const int exponent = static_cast<int>((code & format.magnitude_mask()) >> mantissa_bits);
  if (format.encoding == Encoding::power_of_two) return std::ldexp(1.0f, exponent - format.bias);
  const int significand = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  const int effective_exponent = exponent == 0 ? 1 : exponent;
  return sign * std::ldexp(static_cast<float>(significand), effective_exponent - format.bias - mantissa_bits);
}

}  // namespace shardcheck
