#include "properties/schedules.h"

#include <optional>

#include "core/contract/ordering.h"
#include "core/plan/hostile_allocator.h"
#include "core/plan/rank_by_rank.h"
#include "core/plan/schedule.h"
#include "properties/state_trace.h"
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

constexpr std::string_view kOtherBits = "consumers read other bits than in the order of the plan";

/// What is there for the consumers of a run.
struct Reading {
  std::vector<Finding> values;    ///< gradients that are wrong
  std::uint64_t fingerprint = 0;  ///< of all bits
  StateTrace state;               ///< beside gradients
};
Reading reading_of(const Planned& planned, const Scenario& scenario, Backend& backend,
                   const std::vector<OpIndex>& order) {
  const ScenarioData data(scenario);
  ValueChecker checker(scenario, data, planned);
  RunEvents events;
  StateTrace state(planned.plan);
  events.at_finish = [&](std::int32_t step) { checker.check(step, backend); };
  events.after_op = [&](OpIndex op) { state.after(op, backend); };
  events.at_end = [&] { state.at_end(backend); };
  run_in_order(planned, scenario, data, backend, order, events);
  return {checker.take(), checker.fingerprint(), std::move(state)};
}

/// What is wrong in another order: gradients, and what lies beside them.
std::vector<Finding> wrong_in(Reading& reading, const StateTrace& as_planned) {
  std::vector<Finding> wrong = std::move(reading.values);
  if (auto state = reading.state.difference(as_planned)) wrong.push_back(std::move(*state));
  return wrong;
}

std::vector<OpIndex> order_of(const Plan& plan) {
  std::vector<OpIndex> order;
  for (std::int32_t i = 0; i < std::ssize(plan.ops); ++i) order.push_back(OpIndex{i});
  return order;
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
  const Reading as_planned = reading_of(planned, scenario, backend, order_of(planned.plan));
  seen.explored = explore(planned.plan, most, [&](const ScheduleClass& each) {
    Reading reading = reading_of(planned, scenario, backend, each.order);
    const bool differs = reading.fingerprint != as_planned.fingerprint;
    std::vector<Finding> wrong = wrong_in(reading, as_planned.state);
    seen.wrong += !wrong.empty();
    seen.different += differs;
    if (exploration.wrong.size() == kMostWrong || (wrong.empty() && !differs)) return;
    if (wrong.empty()) wrong.push_back({.sentence = std::string(kOtherBits)});
    exploration.wrong.push_back({variant, each.reversed, std::move(wrong.front())});
  });
}

}  // namespace

Schedules run_schedules(Backend& backend, const Scenario& scenario) {
  const Planned planned = planned_of(scenario);
  const std::vector<Race> races = races_of(planned.plan);
  Schedules schedules{.races = std::ssize(races)};
  if (races.empty()) return schedules;
  const Reading as_planned = reading_of(planned, scenario, backend, order_of(planned.plan));
  for (const Race& race : races) {
    if (std::ssize(schedules.tried) == kMostSchedules) break;
    ScheduledRace& tried = schedules.tried.emplace_back();
    tried.race = race;
    tried.finding = finding_of(planned.plan, race);
    const auto order = schedule_against(planned.plan, race);
    if (!order) continue;
    tried.put_off = count_put_off(*order, race);
    Reading reading = reading_of(planned, scenario, backend, *order);
    tried.values = wrong_in(reading, as_planned.state);
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
