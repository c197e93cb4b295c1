// Counterfactuals: the same scenario with one choice flipped at a time, examined again. Those that mend the
// finding say what it depends on; those that do not say what it does not depend on.
#pragma once

#include <string>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

struct Counterfactual {
  std::string change;   ///< "beta by R5 instead of te-ops", "one microbatch"
  bool mends = false;   ///< the finding's clause holds, and no other is broken instead
  std::string instead;  ///< a clause that is broken now and was not, or empty
};

struct Flip {
  std::string change;
  Scenario scenario;
};

/// Every flip that changes the scenario and leaves it valid, the smallest changes first. `parameter` is the
/// one whose uses are flipped.
std::vector<Flip> flips_of(const Scenario& scenario, std::int32_t parameter);

/// Gradient elements that all ranks write in the scenario: what a run of it costs.
double writes_of(const Scenario& scenario);
/// A scenario with more than that many is not run again and again.
inline constexpr double kMostWrites = 1 << 22;

/// The flips, examined; by the property that shows the clause where one run with that poison does not.
/// Empty when neither does.
std::vector<Counterfactual> counterfactuals(const Scenario& scenario, const Finding& finding, Poison poison,
                                            Backend& backend);

}  // namespace shardcheck
