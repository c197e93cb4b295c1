// The monitor: judges a sequence of ops by the contract, without looking at a value. The same code judges the
// plan before it runs and the ops that a backend says it executed. Byte ranges: core/contract/class_rules.h
// (tables 2.2 and 2.4 of the specification); flags and hooks: core/contract/signalling.h; FP8 weights:
// core/contract/life_rules.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/contract/finding.h"

namespace shardcheck {

/// Breaches in the order of the ops; what follows from a breach in the same bytes is not reported again, and
/// at most 16 are returned. `executed` lists op indices of `plan`.
std::vector<Finding> judge(const Plan& plan, std::span<const OpIndex> executed);

/// The whole plan, before it runs. First whether all ranks get through their calls (rank_symmetry.h), and
/// where nothing is wrong in the order of the plan, its races too (ordering.h).
std::vector<Finding> judge(const Plan& plan);

/// What happens to an FP8 weight before op `end`, a line an op: which version of what it makes. The last 24.
std::vector<std::string> history_of_weight(const Plan& plan, ParamId parameter, OpIndex end);

}  // namespace shardcheck
