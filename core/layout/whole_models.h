// Whole models for the layouts whose own files place one tensor or one unit: which units there are, which
// owners and placements nobody gave, and the numbers of parameters in the model. Next: registry.h, their only
// caller.
#pragma once

#include <cstdint>
#include <span>

#include "core/layout/layout.h"
#include "core/layout/mesh.h"
#include "core/layout/parameter.h"
#include "core/layout/ragged_planner.h"

namespace shardcheck::layout {

/// mfsdp-v2-tensor-atomic with one buffer for each (unit, dtype, requires_grad). Without `owners`, matrices
/// get the original's plan and every other tensor goes to the rank that holds its first element in the flat
/// layout (our choice: the original leaves them out). Throws as mfsdp_v2_flat, plan_owners and
/// mfsdp_v2_tensor_atomic.
Layout tensor_atomic_model(std::span<const Parameter> parameters, std::span<const Rank> owners,
                           std::int32_t world);

/// vescale-ragged: one buffer a unit from planner R1, or, with `units`, one buffer a tensor cut along its
/// first dimension. Throws as plan_ragged and vescale_ragged, or Error when there is not one unit a rank.
Layout ragged_model(std::span<const Parameter> parameters, std::span<const std::int64_t> units,
                    const RaggedPlanOptions& options);

/// dtensor-nd: one buffer with Cut::mesh a tensor. Without `placements`, sharding and tensor axes cut
/// dimension 0 and others replicate; without `order`, tensor axes cut first, as FSDP2 over tensor parallelism
/// does. Throws as dtensor_local.
Layout dtensor_model(std::span<const Parameter> parameters, const Mesh& mesh,
                     std::span<const Placement> placements, std::span<const std::int32_t> order);

}  // namespace shardcheck::layout
