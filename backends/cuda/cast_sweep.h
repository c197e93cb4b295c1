// Every fp32 number through a GPU's casts, compared on the GPU with an integer rule: fp8 2.1, and fp8 2.5 for
// E8M0. A cast is made by the conversion instruction where the chip has one (E4M3, E5M2, UE4M3, bf16, fp16),
// else by an fp32 addition that rounds onto the format's grid, or for powers of two by an integer one. Read
// next: sweep_rules.cuh; properties/cast_law/certificate.h, the law that asks for it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/numerics/named_cast.h"
#include "core/tensor/dtype.h"

namespace shardcheck {

/// What a sweep over all inputs that the format takes saw.
struct CastSweep {
  std::uint64_t inputs = 0;
  std::uint64_t differences = 0;
  /// The least input (as bits) at which they differ, and both codes; meaningless without a difference.
  std::uint32_t input = 0;
  std::uint16_t by_rule = 0, by_machine = 0;
  /// Sum over all inputs x of w(x) * (code + 1) mod 2^64, w(x) = x * 0x9E3779B1 + 0x7F4A7C15 mod 2^32, with
  /// the machine's codes: what any other machine can be compared by.
  std::uint64_t digest = 0;
  double milliseconds = 0;  ///< on the device
};

/// One sweep a cast, on GPU 0, which works through them without waiting for the host. Throws
/// Error(machine_cannot) where there is none.
std::vector<CastSweep> sweep_fp32_casts(std::span<const NamedCast> casts);

/// For each cast the machine's codes of all 2^16 numbers of bf16 or f16, in the order of their bits; 0 where
/// the format takes no such number. On GPU 0, as above.
std::vector<std::vector<std::uint16_t>> codes_of_16_bit_on_gpu(std::span<const NamedCast> casts,
                                                               DType source);

}  // namespace shardcheck
