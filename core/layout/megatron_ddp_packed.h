// The NVFP4 index space of megatron-ddp (shard-layouts 2.3): the same order and the same buckets, but an
// NVFP4 tensor counts half its elements, because two share a byte. Offsets of the two spaces are unrelated by
// any factor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/megatron_ddp_groups.h"

namespace shardcheck::layout {

/// Packed positions; bytes for quantised parameters.
struct PackedSpace {
  std::vector<Range> buckets;
  std::vector<Slot> slots;    ///< in the order of Buffer::slots; `numel` counts packed units
  std::int64_t unpadded = 0;  ///< of all buckets together
};

/// The packed space of a buffer that megatron_ddp returned for `parameters`. Throws Rejected (odd_numel,
/// bucket_count).
PackedSpace pack_nvfp4(const Buffer& buffer, std::span<const Parameter> parameters,
                       const MegatronDdpOptions& options);

}  // namespace shardcheck::layout
