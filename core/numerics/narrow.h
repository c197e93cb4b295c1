// bf16 and fp16 to and from fp32, for loops: inline, without branches that stop a compiler from vectorising.
// Invariant: equal to decode and to encode with kIeee on every input (narrow_test), NaN codes included:
// narrowing gives the one canonical quiet NaN. Read next: encode.h, the readable twin.
#pragma once

#include <bit>
#include <cstdint>

namespace shardcheck {

/// Exact.
inline float bf16_to_f32(std::uint16_t code) {
  return std::bit_cast<float>(std::uint32_t{code} << 16);
}

/// One rounding to nearest even; overflow gives infinity; NaN gives 0x7FC0.
inline std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  // Just under half of the last kept place, plus that place's own bit: a tie carries only into an odd code.
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<std::uint16_t>(is_nan ? 0x7fc0u : rounded);
}

/// Exact; NaN stays NaN with its payload moved up.
inline float f16_to_f32(std::uint16_t code) {
  // The fields moved into fp32's places mean value * 2^-112 (the difference of the biases), subnormals
  // included; the multiplication is exact.
  const std::uint32_t moved = (std::uint32_t{code} & 0x7fffu) << 13;
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(moved) * 0x1p112f);
  const std::uint32_t special = moved | 0x7f800000u;
  const std::uint32_t magnitude = moved >= (0x7c00u << 13) ? special : finite;
  return std::bit_cast<float>(magnitude | (std::uint32_t{code} & 0x8000u) << 16);
}

/// One rounding to nearest even; subnormals kept; overflow gives infinity; NaN gives 0x7E00.
inline std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Normal results: rebias the exponent by 127 - 15, then round as in f32_to_bf16.
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Subnormal results: 0.5 has the step 2^-24 of fp16's subnormals, so the addition itself rounds onto that
  // grid.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t result = magnitude < 0x38800000u ? subnormal : normal;  // 2^-14
  result = magnitude >= 0x47800000u ? 0x7c00u : result;                 // 2^16
  result |= (bits >> 16) & 0x8000u;
  return static_cast<std::uint16_t>(magnitude > 0x7f800000u ? 0x7e00u : result);
}

}  // namespace shardcheck
