// megatron-ddp (shard-layouts 2.3): Megatron-Core DDP with the distributed optimizer. Parameters start at
// multiples of 64 elements in reverse registration order; a bucket is rounded up to D and cut into W equal
// shards anywhere. The shard base alignment shrinks with W (L6). Next: megatron_ddp_packed.h, the NVFP4 index
// space.
#pragma once

#include <span>

#include "core/layout/layout.h"
#include "core/layout/megatron_ddp_groups.h"

namespace shardcheck::layout {

/// Buffers with Cut::equal. Throws Error when a size does not fit 64 bits.
Layout megatron_ddp(std::span<const Parameter> parameters, const MegatronDdpOptions& options);

/// One buffer of it, for layouts that place some groups by this rule.
Buffer place_megatron_ddp(std::span<const Parameter> parameters, const DdpGroup& group,
                          const MegatronDdpOptions& options);

}  // namespace shardcheck::layout
