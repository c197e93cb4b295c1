// The executor: plan x backend -> what was executed and read. It writes the inputs of the scenario, runs the
// plan step by step and hands each finished step to the caller.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/backend.h"
#include "sim/planner/planned.h"
#include "sim/scenario/data.h"

namespace shardcheck {

/// What a run tells while it goes on. Empty functions are not called.
struct RunEvents {
  std::function<void(std::int32_t step)> at_finish;  ///< the gradients of the step may be read
  std::function<void(OpIndex op)> before_op;         ///< when set, ops are executed one by one
  std::function<void(OpIndex op)> after_op;
  std::vector<OpIndex> stops;               ///< ascending
  std::function<void(OpIndex op)> at_stop;  ///< all ops before this one of `stops` have been executed
  std::function<void()> at_end;             ///< and all there are
};

/// Executes the whole plan and returns the ops in the order in which the backend was given them.
std::vector<OpIndex> run(const Planned& planned, const Scenario& scenario, const ScenarioData& data,
                         Backend& backend, const RunEvents& events);

/// Executes the ops of the plan in another order that its streams and events allow
/// (core/plan/schedule.h), one by one. Of the events at_finish is told, after the last op before the step's
/// finish mark, after_op and at_end.
void run_in_order(const Planned& planned, const Scenario& scenario, const ScenarioData& data,
                  Backend& backend, std::span<const OpIndex> order, const RunEvents& events);

}  // namespace shardcheck
