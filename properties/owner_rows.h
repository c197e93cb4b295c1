// Coverage of the owners' state machines: which rows of wgrad 3 a training step takes
// (sim/owners/rows.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace shardcheck {

/// All rows of all strategies, as people read them; in the order of owner_rows().
const std::vector<std::string>& owner_row_names();

/// The rows that the plan of the scenario takes, as indices of owner_rows().
std::vector<std::size_t> owner_rows_of(const Scenario& scenario);

}  // namespace shardcheck
