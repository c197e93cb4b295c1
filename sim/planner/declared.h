// The types that a scenario declares its gradients to pass through, written into its plan for the monitor
// (core/contract/roundings.h).
#pragma once

#include "core/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// Fills Plan::declared and the types of the parameters.
void declare_types(Plan& plan, const Scenario& scenario);

}  // namespace shardcheck
