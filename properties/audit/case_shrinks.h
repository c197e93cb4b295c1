// Shrinks of a case: the cases that are one step simpler, for a framework that takes seconds for each. The
// number of ranks stays, because a launch has one. Next: random_case.h.
#pragma once

#include <vector>

#include "properties/audit/audit_case.h"

namespace shardcheck {

/// Simpler cases that the adapter accepts, the most helpful first: switches at their default, then the
/// shrinks of the scenario.
std::vector<AuditCase> shrinks(const AuditCase& audited);

}  // namespace shardcheck
