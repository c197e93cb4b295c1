// Captured work of a plan: what stands between BeginGraph and EndGraph. A plan stays fully expanded, so what
// happens is said by the ops alone; here is when a backend may capture them as one graph, and when a graph
// that it has may be replayed for them. Next: sim/producers/captured_uses.h emits regions,
// backends/cuda/graphs.h captures them.
#pragma once

#include <optional>
#include <string>

#include "core/plan/plan.h"

namespace shardcheck {

/// The ops [first, end) of a graph; BeginGraph stands before them and EndGraph at `end`.
struct GraphRegion {
  GraphId graph;
  std::int32_t first = 0, end = 0;
};

/// What the BeginGraph at `begin` opens; nothing where no EndGraph of its stream follows before the next
/// BeginGraph there.
std::optional<GraphRegion> region_at(const Plan& plan, OpIndex begin);

/// Why the region cannot be captured; empty where it can. Work of one stream can: products, copies, additions
/// and fills. Events, collectives and allocations cannot, for a replay is a unit that waits for what comes
/// before it and is waited for as a whole.
std::string why_not_captured(const Plan& plan, const GraphRegion& region);

/// True when two ops that a region may hold do the same, whatever their operands are.
bool is_same_action(const Action& a, const Action& b);

}  // namespace shardcheck
