// Rank symmetry: what the calls of a plan's ranks do to each other (core/plan/symmetry.h) as findings of W30.
// A finding names both calls, what each rank waits in when the job hangs, or which ranges are mixed when it
// does not.
#pragma once

#include <vector>

#include "core/contract/finding.h"

namespace shardcheck {

/// One finding a kind of mismatch and communicator, or the cycle in which all ranks wait; at most 16. Empty,
/// after one look at every op, where the plan has no Enqueue.
std::vector<Finding> judge_symmetry(const Plan& plan);

}  // namespace shardcheck
