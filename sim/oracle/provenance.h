// Provenance: reads a gradient value as the list of contributions in it. Contribution i carries a power of
// four, so digit i of the value in base 4 is its multiplicity: 0 lost, 1 right, 2 counted twice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/oracle/oracle.h"

namespace shardcheck {

/// A contribution that is not there exactly as often as it should be.
struct Multiplicity {
  ContributionKey key;
  std::int32_t times = 0;     ///< 0 to 3
  std::int32_t expected = 1;  ///< 0 for a contribution of another step, or of an empty microbatch
};

/// The contributions of the element's lane whose multiplicity is wrong, or nothing when the value, divided by
/// `scale`, is no sum of contributions (NaN, undefined bytes, a wrong scale). `value` was read on `rank`.
std::optional<std::vector<Multiplicity>> decode(const Scenario& scenario, const ScenarioData& data,
                                                std::int32_t parameter, std::int32_t step, std::int32_t rank,
                                                std::int64_t element, double value, double scale);

/// "microbatch 0 of rank 3 (step 1) is missing", "microbatch 0 of rank 1 (step 0) is counted twice".
std::string to_text(const Multiplicity& multiplicity, std::int32_t uses);

}  // namespace shardcheck
