// megatron-layerwise (shard-layouts 2.4): DDP buffers in which no tensor is cut, for matrix optimizers. Each
// bucket has W shards; a tensor goes whole into one of them, balanced by optimizer cost under a cap on size.
// Parameters without the `layerwise` flag form buffers of their own by the rule of megatron_ddp.h.
#pragma once

#include <span>

#include "core/layout/layout.h"
#include "core/layout/megatron_ddp_groups.h"

namespace shardcheck::layout {

/// Buffers with Cut::equal. Throws Error when a size does not fit 64 bits.
Layout megatron_layerwise(std::span<const Parameter> parameters, const MegatronDdpOptions& options);

}  // namespace shardcheck::layout
