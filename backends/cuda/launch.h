// A launch of an elementwise kernel, collected rank by rank from the operands of an op.
#pragma once

#include <bit>
#include <cstdint>

#include "backends/cuda/elementwise.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/reduce_steps.h"
#include "core/assert.h"
#include "core/numerics/narrow.h"

namespace shardcheck::gpu {

/// The bit pattern of `value` rounded to `type`. One-byte elements take only 0.
inline std::uint32_t bits_of(DType type, float value) {
  switch (type) {
    case DType::f32: return std::bit_cast<std::uint32_t>(value);
    case DType::bf16: return f32_to_bf16(value);
    case DType::f16: return f32_to_f16(value);
    default:
      SC_ASSERT(value == 0, "one-byte elements are filled with zero only: a value needs a cast policy");
      return 0;
  }
}

/// Operands of an elementwise op on one GPU, for one launch.
struct Launch {
  RankTable table{};
  Types types{};

  void add(const Range& source, const Range& destination) {
    if (table.ranks == 0) {
      types = {source.dtype, destination.dtype};
      table.aligned = true;
    }
    SC_ASSERT(source.dtype == types.source && destination.dtype == types.destination,
              "types differ between the ranks of an op");
    SC_ASSERT(source.numel == destination.numel, "source and destination differ in size");
    table.source[table.ranks] = source.data;
    table.destination[table.ranks] = destination.data;
    table.numel[table.ranks] = destination.numel;
    table.aligned &= is_aligned(source.data) && is_aligned(destination.data);
    ++table.ranks;
  }
};

}  // namespace shardcheck::gpu
