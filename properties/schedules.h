// Schedules of a scenario: every race of its plan made to happen, one at a time, and what the consumers then
// read. A race is a finding before anything runs (core/contract/ordering.h); this shows its damage.
#pragma once

#include <cstdint>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "core/plan/races.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// One race, and the run in which its second op came first.
struct ScheduledRace {
  Race race;
  Finding finding;              ///< of the order
  std::int64_t put_off = 0;     ///< ops that came late, the race's first among them; 0: no whole op can be
  std::vector<Finding> values;  ///< what consumers read wrong; empty: this schedule does no harm
};

struct Schedules {
  std::int64_t races = 0;            ///< of the plan
  std::vector<ScheduledRace> tried;  ///< in the order of the plan, at most `kMostSchedules`
};
inline constexpr std::int64_t kMostSchedules = 64;

/// Plans the scenario, with its fault, and runs it once for each race on a backend that executes ops in the
/// order in which they are given.
Schedules run_schedules(Backend& backend, const Scenario& scenario);

}  // namespace shardcheck
