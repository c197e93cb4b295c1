// Complexity: the measure in which every shrink is smaller than what it comes from (shrinks.h), so that a
// search for a small case ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/scenario/scenario.h"

namespace shardcheck {

/// How complex a scenario is, most important first: steps, microbatches, ranks, parameters, uses... All
/// entries are at least 0, so there is no endless descent.
using Complexity = std::array<std::int64_t, 51>;
Complexity complexity_of(const Scenario& scenario);

/// The simplest name of a parameter, "w0".
std::string generic_name(std::size_t parameter);

}  // namespace shardcheck
