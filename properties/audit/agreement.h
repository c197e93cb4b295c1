// Agreement: what the ranks of a trace must have in common. Replicas of a gradient or a parameter are equal
// bit for bit, every element is owned by somebody, and "no gradient" is said by all owners or by none.
#pragma once

#include <vector>

#include "core/contract/finding.h"
#include "properties/audit/trace.h"

namespace shardcheck {

/// Findings of W28 (an element that nobody owns), W29 or W39 (replicas differ, with an outer axis or
/// without), W8 and W1 (one rank has a gradient where another has none, or nobody has one where there should
/// be).
std::vector<Finding> judge_agreement(const AuditTrace& trace);

}  // namespace shardcheck
