// Planner R1 (shard-layouts 2.14): one equal shard size S and an offset for every tensor of a unit, so that
// one all-gather is zero-copy and no block of rows is cut. veScale's own planner is not public; this one is
// normative here.
#pragma once

#include <cstdint>
#include <span>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

struct RaggedPlanOptions {
  std::int32_t world = 1;
  std::int64_t granularity = 1;  ///< g: S is a multiple of it, in elements
};

/// One buffer with Cut::equal: S is the smallest feasible multiple of g. Blocks are `block_rows` rows.
/// Feasibility is not monotone in S, so every multiple that ShardSizes allows is tried; cost: a placement
/// each. Throws Error when a size does not fit 64 bits.
Buffer plan_ragged(std::span<const Parameter> parameters, const RaggedPlanOptions& options);

}  // namespace shardcheck::layout
