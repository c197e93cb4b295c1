// From a number to the code nearest to it: the reference algorithm of fp8 2.1 for every format, and of
// fp8 2.5 for E8M0. Invariant: one rounding, on a grid unbounded above; only then is overflow tested. Read
// next: narrow.h, the fast twins for bf16 and fp16.
#pragma once

#include <cstdint>

#include "core/numerics/cast_policy.h"
#include "core/numerics/dyadic.h"
#include "core/numerics/format.h"

namespace shardcheck {

/// The code of an fp32 number given by its bits. Exactness class: exact. E8M0 has its own function below;
/// UE4M3 takes no negative number other than -0. Source: fp8 2.1.
std::uint32_t encode(const Format& format, const CastPolicy& policy, std::uint32_t f32_bits);

/// The same for a number that need not fit fp32: `value` is rounded once. An inexact value must have its top
/// bit set (64 significant bits), so that the unknown tail lies below every rounding position. Exactness
/// class: exact.
std::uint32_t encode(const Format& format, const CastPolicy& policy, const Dyadic& value);

/// Which of the two powers of two around a magnitude an E8M0 scale code means.
enum class PowerOfTwoRounding : std::uint8_t {
  up,            ///< the smallest power of two that is not below the magnitude (`rp`)
  down,          ///< the largest power of two that is not above it (`rz`); 2^-127 for everything smaller
  nearest_even,  ///< the nearest; halfway the even code
  nearest_up,    ///< the nearest; halfway the larger
};

/// The E8M0 code of the magnitude of an fp32 number given by its bits. `overflow` speaks of infinity and of
/// magnitudes that would round above 2^127: saturate gives 0xFE, to_special 0xFF. Exactness class: exact.
/// Source: fp8 2.5.
std::uint8_t encode_e8m0(std::uint32_t f32_bits, PowerOfTwoRounding rounding, FiniteOverflow overflow);

}  // namespace shardcheck
