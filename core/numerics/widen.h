// Stored numbers of a type that is rounded from, as fp32: whole ranges, at the speed of memory. Next:
// narrow.h, one number at a time.
#pragma once

#include <cstddef>
#include <span>

#include "core/tensor/dtype.h"

namespace shardcheck {

/// Little-endian f32, bf16 or f16 numbers become fp32 ones; as many as `numbers` holds. Exact: equal to
/// bf16_to_f32() and f16_to_f32() on every code.
void widen(DType type, std::span<const std::byte> stored, std::span<float> numbers);

}  // namespace shardcheck
