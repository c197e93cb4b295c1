// Gap packing: the placement that both Megatron-FSDP generations share (shard-layouts 2.5 step 4, 2.6).
// Tensors of at least C elements start at multiples of C; what their last chunk leaves free takes the tail of
// a later tensor (the "conjugate") and small tensors ("fragments").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shardcheck::layout {

/// A tensor to place.
struct PackedTensor {
  std::int64_t numel = 0;
  std::int64_t start_unit = 1;  ///< a fragment starts at a multiple of this (1 = anywhere, as v1 does)
};

/// Where the tensors went.
struct GapPacking {
  std::vector<std::int64_t> offsets;  ///< parallel to the tensors
  std::int64_t end = 0;               ///< first element behind the last tensor, before any rounding
};

/// How gap_packing takes the fragments.
enum class FragmentOrder {
  as_given,          ///< v1: a sort whose result is discarded (B16)
  numel_descending,  ///< v2: stable
};

/// Places `tensors` with chunk size `chunk` > 0.
GapPacking pack_into_gaps(std::span<const PackedTensor> tensors, std::int64_t chunk, FragmentOrder order);

}  // namespace shardcheck::layout
