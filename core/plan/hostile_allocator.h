// The allocator adversary of wgrad 6.1: a plan's leases get other slots, always the one that was returned
// last and that the opening op runs after, as an allocator may that reuses storage at once. A right plan
// stays right; one that returns a slot while somebody still uses it loses what the slots of its own pool,
// taking turns, would have kept. Next: explore.h.
#pragma once

#include <optional>

#include "core/plan/plan.h"

namespace shardcheck {

/// The plan with views of its lease slots moved to the slots that the adversary lends; placements in slots do
/// not exist. Slots are alike: lease slots of one type and size. Nothing where that is the plan itself, or
/// where no slot is free when one is wanted.
std::optional<Plan> with_hostile_allocator(const Plan& plan);

}  // namespace shardcheck
