// The test of `shardcheck explain --repro`: one file that a project with shardcheck installed compiles, and
// that fails for as long as the scenario breaks a clause.
#pragma once

#include <string>

#include "core/contract/finding.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// A GoogleTest with the scenario inside. Its header comment says how to build it.
std::string repro_test(const Scenario& scenario, const Finding& finding);

}  // namespace shardcheck
