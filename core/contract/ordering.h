// Ordering: every race of a plan (core/plan/races.h) as a finding. It names both ops, the bytes, the edge of
// wgrad 6.2 that is missing, which stream should have waited, and the clause that the edge protects. Where
// the monitor asks what bytes hold, this asks who may touch them at the same time; reads count here too.
#pragma once

#include <string_view>
#include <vector>

#include "core/contract/finding.h"
#include "core/plan/races.h"

namespace shardcheck {

/// A required order of wgrad 6.2: which pair of ops it is about and what breaks without it.
struct RequiredEdge {
  std::string_view id;           ///< "E2"
  std::string_view clause;       ///< "W33"
  std::string_view consequence;  ///< "one layer's sums mix with another's"
};

/// The edge that the two ops of the race lack.
RequiredEdge edge_of(const Plan& plan, const Race& race);

/// The race as a finding at its second op; the history names both ops in words.
Finding finding_of(const Plan& plan, const Race& race);

/// The races of the plan: the first of every kind (edge, what the two ops do, buffer) as a finding that says
/// how many more there are.
std::vector<Finding> judge_order(const Plan& plan);

}  // namespace shardcheck
