// The codes that a cast policy gives to NaN, infinity and overflow, found by asking the readable encoder.
#pragma once

#include <cstdint>

#include "core/assert.h"
#include "core/numerics/encode.h"
#include "core/tensor/dtype.h"

namespace shardcheck::gpu {

/// Codes of what has no nearest number, by a policy; [1] for negative sources.
struct Fp8Edges {
  std::uint8_t nan[2], infinity[2], overflow[2];
  bool are_hardware;  ///< what cvt.rn.satfinite gives, so that there is nothing to look up
};

/// `type` is e4m3 or e5m2. The hardware rounds to nearest even; no named policy does anything else.
inline Fp8Edges edges_of(DType type, const CastPolicy& policy) {
  SC_ASSERT(type == DType::e4m3 || type == DType::e5m2, "a cast into FP8 has another destination");
  SC_ASSERT(policy.rounding == Rounding::nearest_even, "the conversion instructions round to nearest even");
  constexpr std::uint32_t kNan = 0x7FC00000u, kInfinity = 0x7F800000u, kLargest = 0x7F7FFFFFu;
  const Format& format = format_of(*format_id_of(type));
  Fp8Edges edges{};
  edges.are_hardware = true;
  for (std::uint32_t negative : {0u, 1u}) {
    const std::uint32_t sign = negative << 31;
    const auto code = [&](const CastPolicy& by, std::uint32_t magnitude) {
      return static_cast<std::uint8_t>(encode(format, by, sign | magnitude));
    };
    edges.nan[negative] = code(policy, kNan);
    edges.infinity[negative] = code(policy, kInfinity);
    edges.overflow[negative] = code(policy, kLargest);
    for (std::uint32_t magnitude : {kNan, kInfinity, kLargest}) {
      edges.are_hardware &= code(policy, magnitude) == code(kNvSaturating, magnitude);
    }
  }
  return edges;
}

}  // namespace shardcheck::gpu
