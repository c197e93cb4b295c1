// Buffers of Megatron-Core DDP before anything is placed: which trainable parameters share a buffer, in
// registration order (shard-layouts 2.2, first paragraph). Shared by megatron_ddp_nopad, megatron_ddp and
// megatron_layerwise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

/// Mesh and configuration that the three Megatron-Core DDP layouts share.
struct MegatronDdpOptions {
  std::int32_t world = 1;                    ///< W of the dense group: the one the reduction runs on (B9)
  std::optional<std::int32_t> expert_world;  ///< W of the expert-DP group, if it differs
  std::optional<std::int64_t> bucket_size;   ///< elements; none = one bucket
  bool grad_reduce_in_f32 = false;           ///< gradient buffers are f32 whatever the parameters are
  bool pad_for_high_bus_bandwidth = false;   ///< bucket ends are multiples of 2^16; not used without padding
};

/// A buffer to be: its key, its group size and its parameters.
struct DdpGroup {
  BufferKey key;
  std::int32_t world = 1;
  std::vector<ParamId> params;  ///< registration order
};

/// Groups in order of first appearance. Frozen parameters and aliases of tied ones are in none.
std::vector<DdpGroup> group_for_ddp(std::span<const Parameter> parameters, const MegatronDdpOptions& options);

/// D: the granularity of a bucket's end, lcm(W, 128) or lcm(W, 128, 2^16) (shard-layouts 2.3).
std::int64_t ddp_bucket_granularity(std::int32_t world, const MegatronDdpOptions& options);

}  // namespace shardcheck::layout
