// megatron-ddp-nopad (shard-layouts 2.2): Megatron-Core DDP without the distributed optimizer. Every rank
// holds every buffer whole and nothing is padded; buckets only say what is reduced together.
#pragma once

#include <span>

#include "core/layout/layout.h"
#include "core/layout/megatron_ddp_groups.h"

namespace shardcheck::layout {

/// Buffers with Cut::replicated. Throws Error when a size does not fit 64 bits.
Layout megatron_ddp_nopad(std::span<const Parameter> parameters, const MegatronDdpOptions& options);

}  // namespace shardcheck::layout
