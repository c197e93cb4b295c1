// The laws of sharded quantisation, F40 to F49 (fp8 5.4), over one call, its plan and what came of it. Laws
// of the plan (F45, F46, F48) need no run; the others compare the run with the unsharded result or with the
// ranges that a rank owns. Next: zoo.h, the faults that each law catches.
#pragma once

#include <vector>

#include "core/contract/finding.h"
#include "core/recipe/sharded_run.h"

namespace shardcheck {

/// Turns a right plan into a wrong one; null leaves it right.
using CorruptPlan = void (*)(const recipe::ShardedCall& call, recipe::ShardedPlan& plan);

/// Every broken law, each once, with the first place that shows it. `corrupt` is applied to every plan that
/// is made of the call.
std::vector<Finding> judge_sharded(const recipe::ShardedCall& call, CorruptPlan corrupt);

}  // namespace shardcheck
