// Patterns: the signatures of properties/diagnosis over the numbers of a trace, where no plan was executed
// and only what the owners read is known.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/contract/finding.h"
#include "properties/audit/trace.h"

namespace shardcheck {

/// The sentences of all signatures that a wrong gradient shows, each after its name. `finding` names the
/// gradient's rank and element.
std::vector<std::string> patterns_of(const AuditTrace& trace, const Finding& finding,
                                     const TracedTensor& tensor);

struct ProbedWeight;

/// The same from probed weights: those of the finding's parameter on its rank.
std::vector<std::string> patterns_of_weights(const AuditTrace& trace, Finding finding,
                                             std::span<const ProbedWeight> probed);

}  // namespace shardcheck
