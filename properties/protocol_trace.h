// ProtocolTrace: what a plan does in each step that came to its end, as far as the gradient protocol speaks
// of it, so that two plans can be compared that differ in when and where, not in what. Attempts that were
// given up are left out. Two parts a step: what happens to local gradients, in its order, and the reductions
// and what follows them, whose order is the owner's own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/plan/plan.h"

namespace shardcheck {

/// An op, as a number that equal ops of two plans have in common: events, streams and the slot of a lease say
/// nothing.
struct TracedOp {
  std::uint64_t key = 0;
  OpIndex op;
};

struct StepTrace {
  std::vector<TracedOp> local;    ///< writes, flags, hooks, folds, leases
  std::vector<TracedOp> reduced;  ///< everything from zeroing to the consumer, by key
};

/// A step of the plan after the other.
std::vector<StepTrace> trace(const Plan& plan);

/// The first op of `plan` that `fresh` does not have in its place, or lacks: `op` is of `plan` then, of the
/// last op of the step.
struct TraceDifference {
  OpIndex op;
  std::int32_t step = 0;
};
std::optional<TraceDifference> first_difference(const Plan& plan, const Plan& fresh);

}  // namespace shardcheck
