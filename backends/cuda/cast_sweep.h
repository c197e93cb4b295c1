// Every fp32 number through the conversion kernels' arithmetic, compared on the GPU with the integer rule of
// fp8 2.1. Read next: properties/cast_law/cast_law.h, the law that asks for it.
#pragma once

#include <cstdint>

#include "core/numerics/format.h"
#include "core/tensor/dtype.h"

namespace shardcheck {

/// What a sweep over all 2^32 inputs saw.
struct CastSweep {
  std::uint64_t differences = 0;
  /// The least input (as bits) at which they differ, and both codes; meaningless without a difference.
  std::uint32_t input = 0;
  std::uint8_t by_rule = 0, by_hardware = 0;
  /// Sum over all inputs x of w(x) * (code + 1) mod 2^64, w(x) = x * 0x9E3779B1 + 0x7F4A7C15 mod 2^32, with
  /// the hardware's codes: what any other machine can be compared by.
  std::uint64_t digest = 0;
  double milliseconds = 0;  ///< on the device
};

/// Casts to `destination` (e4m3 or e5m2) by the policy of index `policy` in kCastPolicies, on GPU 0. Throws
/// Error(machine_cannot) where there is none.
CastSweep sweep_fp32_casts(DType destination, std::int8_t policy);

}  // namespace shardcheck
