// megatron-fsdp-v1 (shard-layouts 2.5): the first Megatron-FSDP. One buffer a parameter group, tensors
// ordered by row size, gaps filled, cut into W equal shards. Its quirks are reproduced: C depends on the
// order of its tests, tail fragments are not row-aligned (B15), and the virtual shards of no_shard do not
// cover the buffer (B18).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

/// What is physically sharded. The geometry only asks whether anything is.
enum class FsdpStrategy : std::uint8_t { no_shard, optim, optim_grads, optim_grads_params };

struct MegatronFsdpV1Options {
  std::int32_t world = 1;                    ///< W of the dense shard group; O * I for HFSDP
  std::optional<std::int32_t> expert_world;  ///< W of the expert-DP group, if it differs
  FsdpStrategy strategy = FsdpStrategy::optim_grads_params;
  std::int64_t suggested_bucket_size = 40'000'000;  ///< elements; bounds the groups outside any FSDP unit
};

/// Buffers with Cut::equal, or Cut::virtual_floor under no_shard. Experts are the parameters whose `expert`
/// flag is set. Throws Rejected (zero_row_size), or Error when a size does not fit 64 bits.
Layout megatron_fsdp_v1(std::span<const Parameter> parameters, const MegatronFsdpV1Options& options);

/// The original recognises experts by their name.
inline bool is_expert_name(std::string_view name) {
  return name.find(".experts.") != std::string_view::npos;
}

/// A coordinate of the (outer, inner) mesh of HFSDP.
struct HfsdpCoordinate {
  std::int32_t outer = 0, inner = 0;
};

/// The shard that the rank at `at` holds of the optimizer state: inner-major, not the rank number (L19, B26).
inline Rank hfsdp_shard(HfsdpCoordinate at, std::int32_t outer_size) {
  return Rank{at.inner * outer_size + at.outer};
}

}  // namespace shardcheck::layout
