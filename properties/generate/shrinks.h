// Shrinks: the scenarios that are one step simpler than a given one, the most helpful first. A search that
// follows them ends, because each is smaller in a fixed lexicographic measure (complexity.h). Next: rapid.h
// searches.
#pragma once

#include <vector>

#include "sim/scenario/scenario.h"

namespace shardcheck {

/// Simpler scenarios: valid, each with a smaller measure. The fault is kept, and what is_sound stays so,
/// that a search does not slip from a bug into a protocol that is wrong by itself.
std::vector<Scenario> shrinks(const Scenario& scenario);

}  // namespace shardcheck
