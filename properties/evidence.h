// Evidence: everything that one scenario shows on one backend. Plan it, rewrite it by its fault, judge the
// plan, run it, compare every finished gradient with the oracle. Properties are questions to this value.
#pragma once

#include <cstdint>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "sim/planner/planned.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

struct Evidence {
  Planned planned;
  std::vector<Finding> findings;  ///< of the plan and the executed ops first, then of the values
  std::uint64_t fingerprint = 0;  ///< of all bits that consumers read
  double budget_used = 0;         ///< largest share of a bound that a bounded comparison used
};

/// Runs the scenario on `backend`, undefined bytes filled with `poison`.
Evidence examine(Backend& backend, const Scenario& scenario, Poison poison);

/// The same for a plan that a property has changed; it is run as it is.
Evidence examine(Backend& backend, const Scenario& scenario, Planned planned);

}  // namespace shardcheck
