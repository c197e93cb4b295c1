// The two sides of a sweep: how the machine casts, and the integer rule that it is held against. Both take
// the bits of an fp32 number and give a code; they share nothing but the table of edges. Next: cast_sweep.cu.
#pragma once

#include <cstdint>

#include "backends/cuda/fp8.cuh"
#include "core/numerics/named_cast.h"

namespace shardcheck::gpu {

constexpr std::uint32_t kSweepInfinity = 0x7F800000u;

/// A format and a policy as numbers.
struct SweepFormat {
  int fraction_bits;
  int smallest;                  ///< exponent of the smallest normal number
  int sign_shift;                ///< from fp32's sign to the format's; 31 where there is none
  std::uint32_t largest;         ///< code
  std::uint32_t overflows_from;  ///< the least magnitude (as bits) that does
  bool has_negative_zero;
  std::uint16_t nan[2], infinity[2], overflow[2];  ///< codes; [1] for negative sources

  __device__ std::uint32_t edge(std::uint32_t bits) const {
    const std::uint32_t magnitude = bits & 0x7FFFFFFFu, negative = bits >> 31;
    if (magnitude > kSweepInfinity) return nan[negative];
    return magnitude == kSweepInfinity ? infinity[negative] : overflow[negative];
  }
  __device__ std::uint32_t with_sign(std::uint32_t code, std::uint32_t bits) const {
    if (code == 0 && !has_negative_zero) return 0;
    return sign_shift == 31 ? code : code | (bits & 0x80000000u) >> sign_shift;
  }
};

// ---- The rule.

/// fp8 2.1: the significand is shifted onto the grid and rounded, then overflow is tested.
struct RoundedShift {
  SweepFormat format;

  __device__ std::uint32_t code(std::uint32_t bits) const {
    const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude >= kSweepInfinity) return format.edge(bits);
    const int field = static_cast<int>(magnitude >> 23);
    const std::uint32_t significand = (magnitude & 0x7FFFFFu) | (field == 0 ? 0u : 0x800000u);
    const int exponent = max(field, 1), binade = max(exponent - 127, format.smallest);
    const int shift = min(binade - format.fraction_bits - (exponent - 150), 31);
    std::uint32_t code = significand >> shift;
    const std::uint32_t rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
    code += rest > half || (rest == half && (code & 1u) != 0) ? 1u : 0u;
    code += static_cast<std::uint32_t>(binade - format.smallest) << format.fraction_bits;
    return code > format.largest ? format.edge(bits) : format.with_sign(code, bits);
  }
};

/// fp8 2.5: which of the two powers of two around the magnitude.
struct NearbyPower {
  PowerOfTwoRounding rounding;
  std::uint32_t too_large;

  __device__ std::uint32_t code(std::uint32_t bits) const {
    const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > kSweepInfinity) return 255;
    if (magnitude == kSweepInfinity) return too_large;
    const std::uint32_t exponent = magnitude >> 23, fraction = magnitude & 0x7FFFFFu;
    // Code 0 means 2^-127, the subnormal 0x00400000.
    const std::uint32_t power = exponent == 0 ? 0x400000u : 0,
                        halfway = exponent == 0 ? 0x600000u : 0x400000u;
    bool ascends = false;
    switch (rounding) {
      case PowerOfTwoRounding::up: ascends = fraction > power; break;
      case PowerOfTwoRounding::down: break;
      case PowerOfTwoRounding::nearest_even:
        ascends = fraction > halfway || (fraction == halfway && exponent % 2 == 1);
        break;
      case PowerOfTwoRounding::nearest_up: ascends = fraction >= halfway; break;
    }
    if (!ascends) return exponent;
    return exponent == 254 ? too_large : exponent + 1;
  }
};

// ---- The machine.

/// The conversion instruction of F, two numbers at a time. UE4M3 is E4M3 without a sign.
template <class F>
struct ByFp8Instruction {
  SweepFormat format;

  __device__ void codes(std::uint32_t bits, std::uint32_t (&two)[2]) const {
    const std::uint16_t pair = convert_pair<F>(__uint_as_float(bits), __uint_as_float(bits + 1));
#pragma unroll
    for (std::uint32_t i = 0; i < 2; ++i) {
      const bool is_edge = ((bits + i) & 0x7FFFFFFFu) >= format.overflows_from;
      two[i] = is_edge ? format.edge(bits + i) : (pair >> 8 * i) & 0xFFu;
    }
  }
};

/// The conversion instruction to bf16 or fp16.
template <class E>
struct By16BitInstruction {
  SweepFormat format;

  __device__ void codes(std::uint32_t bits, std::uint32_t (&two)[2]) const {
#pragma unroll
    for (std::uint32_t i = 0; i < 2; ++i) {
      const bool is_edge = ((bits + i) & 0x7FFFFFFFu) >= format.overflows_from;
      two[i] = is_edge ? format.edge(bits + i) : E::narrow(__uint_as_float(bits + i));
    }
  }
};

/// An fp32 addition rounds: its other term is the power of two whose last place is a step of the format.
struct ByAddition {
  SweepFormat format;

  __device__ void codes(std::uint32_t bits, std::uint32_t (&two)[2]) const {
    const int shift = 23 - format.fraction_bits;
    const std::uint32_t first_normal = static_cast<std::uint32_t>(format.smallest + 127) << 23;
#pragma unroll
    for (std::uint32_t i = 0; i < 2; ++i) {
      const std::uint32_t magnitude = (bits + i) & 0x7FFFFFFFu;
      const std::uint32_t grid = max(magnitude & kSweepInfinity, first_normal);
      const std::uint32_t power = grid + (static_cast<std::uint32_t>(shift) << 23);
      const float sum = __fadd_rn(__uint_as_float(magnitude), __uint_as_float(power));
      const std::uint32_t code = __float_as_uint(sum) - power + ((grid >> shift) - (first_normal >> shift));
      two[i] = magnitude >= format.overflows_from ? format.edge(bits + i) : format.with_sign(code, bits + i);
    }
  }
};

/// An integer addition carries into the exponent.
struct ByCarry {
  std::uint32_t add, add_to_odd, add_to_subnormal, too_large;

  __device__ void codes(std::uint32_t bits, std::uint32_t (&two)[2]) const {
#pragma unroll
    for (std::uint32_t i = 0; i < 2; ++i) {
      const std::uint32_t magnitude = (bits + i) & 0x7FFFFFFFu;
      const std::uint32_t carry =
          magnitude < 0x800000u ? add_to_subnormal : add + ((magnitude >> 23) & add_to_odd);
      const std::uint32_t code = (magnitude + carry) >> 23;
      two[i] = magnitude > kSweepInfinity ? 255 : code > 254 ? too_large : code;
    }
  }
};

}  // namespace shardcheck::gpu
