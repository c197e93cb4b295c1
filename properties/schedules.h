// Schedules of a scenario: every race of its plan made to happen, one at a time, or every class of schedules
// that its streams allow, and what is then there to be read: gradients, as the oracle wants them, and
// masters, weights, codes and scales, as the order of the plan leaves them. A race is a finding before
// anything runs (core/contract/ordering.h); this shows its damage.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "core/plan/explore.h"
#include "core/plan/races.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// One race, and the run in which its second op came first.
struct ScheduledRace {
  Race race;
  Finding finding;              ///< of the order
  std::int64_t put_off = 0;     ///< ops that came late, the race's first among them; 0: no whole op can be
  std::vector<Finding> values;  ///< what is wrong to be read; empty: this schedule does no harm
};

struct Schedules {
  std::int64_t races = 0;            ///< of the plan
  std::vector<ScheduledRace> tried;  ///< in the order of the plan, at most `kMostSchedules`
};
inline constexpr std::int64_t kMostSchedules = 64;

/// Plans the scenario, with its fault, and runs it once for each race on a backend that executes ops in the
/// order in which they are given.
Schedules run_schedules(Backend& backend, const Scenario& scenario);

/// What of a plan is explored.
enum class Variant : std::uint8_t {
  as_planned,
  hostile_allocator,  ///< slots are lent by one that reuses at once (core/plan/hostile_allocator.h)
  rank_by_rank,       ///< ranks run apart (core/plan/rank_by_rank.h): there are races that exist only so
};

/// A class of schedules with something wrong to be read, or other bits than in the order of the plan.
struct WrongClass {
  Variant variant{};
  std::vector<std::pair<OpIndex, OpIndex>> reversed;  ///< what makes it another schedule than the plan's
  Finding value;                                      ///< the first; without values where only bits differ
};

/// All results of one plan.
struct ExploredPlan {
  Variant variant{};
  Explored explored;
  std::int64_t wrong = 0;  ///< classes with something wrong to be read
  std::int64_t different =
      0;  ///< classes whose consumers or products read other bits than in the plan's order
};

struct Exploration {
  std::vector<ExploredPlan> plans;  ///< as planned, and the others where they change anything
  std::vector<WrongClass> wrong;    ///< at most `kMostWrong`, those closest to the plan first
};
inline constexpr std::size_t kMostWrong = 64;

/// Plans the scenario, with its fault, and runs every class of its schedules (core/plan/explore.h), at most
/// `most` of a plan, on a backend that executes ops in the order in which they are given.
Exploration explore_schedules(Backend& backend, const Scenario& scenario, std::int64_t most);

}  // namespace shardcheck
