// Roundings: the types that gradients pass through on their way, compared with the pipeline that the plan
// declares (W16, W38; wgrad 8.3, 8.4). No value is looked at: a cast that loses nothing today is a breach all
// the same. One look at the type that each op writes is enough where all is as declared; only then is the
// plan followed byte by byte (type_trails.h).
#pragma once

#include <span>
#include <vector>

#include "core/contract/finding.h"

namespace shardcheck {

/// The breaches, in the order of the ops that they name, at most one a parameter, clause and part of the way.
/// A finding names the op that rounds, or that leaves a declared rounding out. Empty where the plan declares
/// nothing.
std::vector<Finding> judge_roundings(const Plan& plan, std::span<const OpIndex> executed);

}  // namespace shardcheck
