#include "properties/schedules.h"

#include "core/contract/ordering.h"
#include "core/plan/schedule.h"
#include "sim/executor/executor.h"
#include "sim/faults/zoo.h"
#include "sim/oracle/checker.h"
#include "sim/planner/planner.h"

namespace shardcheck {
namespace {

/// Ops between the two, which wait for the first.
std::int64_t count_put_off(const std::vector<OpIndex>& order, const Race& race) {
  std::int64_t late = 0;
  bool is_past = false;
  for (OpIndex op : order) {
    if (is_past && op < race.second) ++late;
    if (op == race.second) is_past = true;
  }
  return late;
}

std::vector<Finding> values_of(const Planned& planned, const Scenario& scenario, Backend& backend,
                               const std::vector<OpIndex>& order) {
  const ScenarioData data(scenario);
  ValueChecker checker(scenario, data, planned);
  RunEvents events;
  events.at_finish = [&](std::int32_t step) { checker.check(step, backend); };
  run_in_order(planned, scenario, data, backend, order, events);
  return checker.take();
}

}  // namespace

Schedules run_schedules(Backend& backend, const Scenario& scenario) {
  Planned planned = plan_of(scenario);
  planned.plan.poison = Poison::quiet_nan;
  apply_fault(planned, scenario);
  const std::vector<Race> races = races_of(planned.plan);
  Schedules schedules{.races = std::ssize(races)};
  for (const Race& race : races) {
    if (std::ssize(schedules.tried) == kMostSchedules) break;
    ScheduledRace& tried = schedules.tried.emplace_back();
    tried.race = race;
    tried.finding = finding_of(planned.plan, race);
    const auto order = schedule_against(planned.plan, race);
    if (!order) continue;
    tried.put_off = count_put_off(*order, race);
    tried.values = values_of(planned, scenario, backend, *order);
  }
  return schedules;
}

}  // namespace shardcheck
