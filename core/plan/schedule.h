// Schedules: orders of a plan's ops that its streams and events allow. A race is two ops without an order, so
// there is a schedule in which the later one runs first; executed op by op, it shows what the race does to
// the values. Next: races.h finds races, sim/executor runs a plan in the order of a schedule.
#pragma once

#include <optional>
#include <vector>

#include "core/plan/races.h"

namespace shardcheck {

/// All ops of the plan, each once: `race.first` and what must follow it are put off until after
/// `race.second`. An op runs on all of its ranks at once, so nothing is returned where another rank forces
/// the plan's order.
std::optional<std::vector<OpIndex>> schedule_against(const Plan& plan, const Race& race);

}  // namespace shardcheck
