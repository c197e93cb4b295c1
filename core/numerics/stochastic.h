// Stochastic rounding with declared random bits (fp8 2.7): where a number lies between two codes, a draw
// decides. Invariant: a number that has a code keeps it, whatever the draw. Read next: encode.h, whose edges
// (NaN, infinity, overflow) hold here too.
#pragma once

#include <cstdint>

#include "core/numerics/cast_policy.h"
#include "core/numerics/format.h"

namespace shardcheck {

/// One draw: uniform in [0, 2^count).
struct RandomBits {
  int count = 0;  ///< k of fp8 2.7, 1 to 32; 8 for the FP4 instruction
  std::uint32_t value = 0;
};

/// The code of an fp32 number given by its bits: toward zero on the format's grid, then one step up when
/// floor(fraction * 2^k) + value >= 2^k, so that P(up) = floor(fraction * 2^k) / 2^k, never above the
/// fraction. The policy's own rounding is not used. Exactness class: exact for a given draw. Source: fp8 2.7.
std::uint32_t encode_stochastic(const Format& format, const CastPolicy& policy, std::uint32_t f32_bits,
                                RandomBits random);

}  // namespace shardcheck
