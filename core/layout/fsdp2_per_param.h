// fsdp2-per-param (shard-layouts 2.10): PyTorch FSDP2, fully_shard. Every parameter is cut by itself along
// one dimension; a group's collectives concatenate the padded shards, so gathering needs a copy-out per
// parameter (L10).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

struct Fsdp2Options {
  std::int32_t world = 1;  ///< size of the shard axis; an HSDP mesh is (replicate, shard)
};

/// One buffer with Cut::per_parameter a unit. Throws Rejected (zero_dim_tensor, shard_dim_out_of_range,
/// uneven_nonzero_dim), or Error when a size does not fit 64 bits.
Layout fsdp2_per_param(std::span<const Parameter> parameters, const Fsdp2Options& options);

/// Shape of the parameter's unpadded local shard.
std::vector<std::int64_t> fsdp2_local_shape(const Parameter& parameter, Rank rank,
                                            const Fsdp2Options& options);

/// The same slots in bytes: used when a group mixes dtypes, without alignment between parameters.
std::vector<Range> fsdp2_byte_slots(const Buffer& buffer, std::span<const Parameter> parameters);

}  // namespace shardcheck::layout
