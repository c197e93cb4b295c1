// Laws that a plan of sharded quantisation keeps before anything runs: all ranks issue the same collectives
// (F43, F45), in an order in which nothing is read before it is made (F46), in the right groups (F48), and
// what is cast and sent is the rank's own (F42).
#pragma once

#include <vector>

#include "core/contract/finding.h"
#include "core/recipe/sharded.h"

namespace shardcheck {

/// Appends at most one finding a law.
void judge_plan(const recipe::ShardedCall& call, const recipe::ShardedPlan& plan,
                std::vector<Finding>& findings);

}  // namespace shardcheck
