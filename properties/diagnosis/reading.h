// Bytes of a backend as numbers with their bits.
#pragma once

#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"

namespace shardcheck {

/// The value, which must be one of the type, with its bits.
Sighting sighting_of(double value, DType type);

/// The elements of the view on that rank. Types that no gradient has keep their bits and read as 0.
std::vector<Sighting> read_sightings(Backend& backend, const Plan& plan, Rank rank, View view);

}  // namespace shardcheck
