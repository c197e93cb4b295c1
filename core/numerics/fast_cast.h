// Ranges of fp32 numbers to narrow codes at the speed of memory: integer arithmetic in plain loops that the
// compiler vectorises, for the widest instructions of the machine that runs. Invariant: equal to encode() on
// every input (`shardcheck fp8 certify` walks all 2^32). Read next: encode.h, the readable twin.
#pragma once

#include <cstdint>
#include <span>

#include "core/numerics/cast_policy.h"
#include "core/numerics/encode.h"
#include "core/numerics/format.h"

namespace shardcheck {

/// One way to cast, prepared: the numbers that the loop works with.
class FastCast {
 public:
  /// Any format but E8M0 and fp32. UE4M3 takes no negative number other than -0.
  FastCast(const Format& format, const CastPolicy& policy);

  /// Into a format of at most 8 bits; as many codes as numbers. They do not overlap. Exactness class: exact.
  void operator()(std::span<const float> numbers, std::span<std::uint8_t> codes) const;
  /// Into bf16 or fp16.
  void operator()(std::span<const float> numbers, std::span<std::uint16_t> codes) const;

  /// Magnitudes and codes as signed integers: every machine compares those, few compare unsigned ones.
  struct Constants {
    std::int32_t shift;         ///< mantissa bits that are dropped
    std::int32_t first_normal;  ///< magnitude (as fp32 bits) of the smallest normal number; bf16: 0
    std::int32_t first_code;    ///< first_normal >> shift
    std::int32_t hidden_bit;    ///< code of the smallest normal number; bf16: 0
    float steps;                ///< 1 / the smallest subnormal
    std::int32_t last;          ///< greatest magnitude that does not overflow
    std::int32_t overflow, infinity, nan;  ///< codes without sign
    std::int32_t sign_shift;               ///< moves fp32's sign to the format's
    std::int32_t sign, sign_of_nan;        ///< masks of the code
    bool has_negative_zero;
  };

 private:
  Constants constants_;
  Rounding rounding_;
};

/// The same for E8M0: the power of two by the rounding.
class FastPowerOfTwoCast {
 public:
  FastPowerOfTwoCast(PowerOfTwoRounding rounding, FiniteOverflow overflow);
  /// As encode_e8m0(), for a range. Exactness class: exact.
  void operator()(std::span<const float> numbers, std::span<std::uint8_t> codes) const;

  struct Constants {
    std::int32_t add, add_to_odd;   ///< to a normal magnitude before its mantissa is dropped
    std::int32_t add_to_subnormal;  ///< code 0 means 2^-127, which is 0x00400000
    std::int32_t overflow;
  };

 private:
  Constants constants_;
};

}  // namespace shardcheck
