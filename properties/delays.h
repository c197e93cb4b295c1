// Delays: the races of a plan on a machine whose streams really run at once. schedules.h says what a race
// does to the values when its second op comes first; whether it ever does on a real machine is a matter of
// luck, and a delay in front of the first op makes it likely. Next: core/delaying.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "core/plan/races.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

struct DelayOptions {
  std::int64_t tries;                ///< runs of the plan for each race, and as many without a delay
  std::chrono::microseconds length;  ///< long against what the host needs to enqueue the ops of a step
};

/// One race, whose first op was late on its stream and rank in every try.
struct DelayedRace {
  std::int64_t wrong = 0;        ///< tries in which a consumer read something wrong, or in which masters,
                                 ///< weights or products are others than when ops come one after the other
  std::optional<Finding> value;  ///< the first of what it read, else a sentence about these
};

struct DelayedRaces {
  std::int64_t wrong_undelayed = 0;  ///< the same without a delay
  std::vector<DelayedRace> races;    ///< in the order of those given
};

/// Plans the scenario, with its fault, and runs it for each of `races`, which are of that plan. The numbers
/// are observations, not laws: a race that never went wrong is still one. Throws Error(bad_input) where the
/// backend cannot hold a stream back.
DelayedRaces run_delayed(Backend& backend, const Scenario& scenario, std::span<const Race> races,
                         const DelayOptions& options);

}  // namespace shardcheck
