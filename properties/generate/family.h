// The family of all small scenarios: what random search samples, enumerated by nested loops up to a size.
// Next: properties/runner.h runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/scenario/scenario.h"

namespace shardcheck {

/// Strategy x {R5, R6, R7, R8} x 1 to `size` ranks x 1 to `size` microbatches x every forward order of up to
/// `size` fused and unfused uses of one or two parameters; two steps. Each is the head of a cell.
std::vector<Scenario> family_cells(std::int32_t size);

/// Calls visit for each scenario of the cell, until it returns false: every set of ranks and microbatches in
/// which the first parameter is silent in the second step x every loss and place of its scale.
void each_of_cell(const Scenario& cell, const std::function<bool(const Scenario&)>& visit);

}  // namespace shardcheck
