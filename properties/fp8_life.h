// The life of FP8 weights as a property of plans: versions of codes, scales and derived copies, what amaxes
// are of, and order between streams (core/contract/life_rules.h). Nothing runs, so a case costs what its plan
// costs; what the numbers say is the property fp8-weights.
#pragma once

#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// What the scenario's plan breaks, with its fault in it; nothing without an FP8 section. The backend is not
/// asked: it executes ops in the order of the plan.
std::vector<Finding> fp8_life(Backend& backend, const Scenario& scenario);

}  // namespace shardcheck
