// mfsdp-v2-tensor-atomic (shard-layouts 2.8): no tensor is cut, each has one owner, and the shards have
// unequal lengths without padding, so collectives need counts per rank (L9). Also the original's choice of
// owners for matrix optimizers, which starts from the flat layout.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

/// One buffer with Cut::listed that owns every parameter by `owners`, parallel to `parameters`. Throws Error
/// when an owner is outside [0, world) or the counts differ.
Buffer mfsdp_v2_tensor_atomic(std::span<const Parameter> parameters, std::span<const Rank> owners,
                              std::int32_t world);

/// Owners of the tensors with at least two dimensions, ascending by parameter: among the ranks that hold part
/// of the tensor in `flat` (from mfsdp_v2_flat), the one with the least accumulated cost. Throws Rejected
/// (zero_element_owner).
std::vector<std::pair<ParamId, Rank>> plan_owners(std::span<const Parameter> parameters, const Buffer& flat);

}  // namespace shardcheck::layout
