#include "properties/schedules.h"

#include <optional>

#include "core/contract/ordering.h"
#include "core/plan/hostile_allocator.h"
#include "core/plan/rank_by_rank.h"
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

constexpr std::string_view kOtherBits =
    "consumers, or products of weights, read other bits than in the order of the plan";

/// What the consumers of a run read.
struct Reading {
  std::vector<Finding> values;    ///< what is wrong
  std::uint64_t fingerprint = 0;  ///< of all bits
};
Reading reading_of(const Planned& planned, const Scenario& scenario, Backend& backend,
                   const std::vector<OpIndex>& order) {
  const ScenarioData data(scenario);
  ValueChecker checker(scenario, data, planned);
  RunEvents events;
  events.at_finish = [&](std::int32_t step) { checker.check(step, backend); };
  run_in_order(planned, scenario, data, backend, order, events);
  return {checker.take(), checker.fingerprint()};
}

Planned planned_of(const Scenario& scenario) {
  Planned planned = plan_of(scenario);
  planned.plan.poison = Poison::quiet_nan;
  apply_fault(planned, scenario);
  return planned;
}

/// The same with an op a rank.
Planned apart(const Planned& planned) {
  RankByRank split = rank_by_rank(planned.plan);
  Planned moved = planned;
  const auto follow = [&](OpIndex& index) { index = split.begins[static_cast<std::size_t>(index.value)]; };
  follow(moved.setup_end);
  for (OpIndex& finish : moved.finishes) follow(finish);
  moved.plan = std::move(split.plan);
  return moved;
}

void explore_plan(const Planned& planned, const Scenario& scenario, Backend& backend, std::int64_t most,
                  Variant variant, Exploration& exploration) {
  ExploredPlan& seen = exploration.plans.emplace_back(ExploredPlan{.variant = variant, .explored = {}});
  std::optional<std::uint64_t> as_planned;
  seen.explored = explore(planned.plan, most, [&](const ScheduleClass& each) {
    Reading reading = reading_of(planned, scenario, backend, each.order);
    if (!as_planned) as_planned = reading.fingerprint;
    const bool differs = reading.fingerprint != *as_planned;
    seen.wrong += !reading.values.empty();
    seen.different += differs;
    if (exploration.wrong.size() == kMostWrong || (reading.values.empty() && !differs)) return;
    if (reading.values.empty()) reading.values.push_back({.sentence = std::string(kOtherBits)});
    exploration.wrong.push_back({variant, each.reversed, std::move(reading.values.front())});
  });
}

}  // namespace

Schedules run_schedules(Backend& backend, const Scenario& scenario) {
  const Planned planned = planned_of(scenario);
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
    tried.values = reading_of(planned, scenario, backend, *order).values;
  }
  return schedules;
}

Exploration explore_schedules(Backend& backend, const Scenario& scenario, std::int64_t most) {
  const Planned planned = planned_of(scenario);
  Exploration exploration;
  explore_plan(planned, scenario, backend, most, Variant::as_planned, exploration);
  if (auto moved = with_hostile_allocator(planned.plan)) {
    Planned hostile = planned;
    hostile.plan = std::move(*moved);
    explore_plan(hostile, scenario, backend, most, Variant::hostile_allocator, exploration);
  }
  const bool is_of_some_ranks =
      exploration.plans.front().explored.pairs == 0 && !races_of(planned.plan).empty();
  if (is_of_some_ranks)
    explore_plan(apart(planned), scenario, backend, most, Variant::rank_by_rank, exploration);
  return exploration;
}

}  // namespace shardcheck
