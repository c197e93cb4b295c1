// FP8 training steps for tests: two matrices and a bias on four ranks, and what the WeightChecker says of a
// plan of them, damaged or not.
#pragma once

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "sim/executor/executor.h"
#include "sim/faults/edit.h"
#include "sim/oracle/weight_checker.h"
#include "sim/scenario/validate.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {

/// "w0" and "w1" of that shape in two units, a bias between them.
inline Scenario training(const std::string& recipe, Strategy strategy, std::vector<std::int64_t> shape) {
  Scenario s = base(strategy);
  s.ranks = 4;
  s.steps = 3;
  s.data = DataMode::integers;
  s.tokens = 3;
  s.parameters = {{.name = "w0", .shape = shape},
                  {.name = "bias", .shape = {5}},
                  {.name = "w1", .shape = shape, .unit = 1}};
  s.uses = {{.parameter = 0}, {.parameter = 1, .producer = Producer::unfused}, {.parameter = 2}};
  if (is_unfused_only(strategy)) {
    for (ScenarioUse& use : s.uses) use.producer = Producer::unfused;
  }
  s.fp8.emplace();
  s.fp8->recipe = recipe;
  validate(s, "training");
  return s;
}

/// Owners that may have weights in FP8.
inline constexpr Strategy kWithFp8[] = {
    Strategy::megatron_ddp, Strategy::megatron_ddp_zero1, Strategy::fsdp_no_shard,
    Strategy::fsdp_optim,   Strategy::fsdp_optim_grads,   Strategy::fsdp_optim_grads_params,
    Strategy::fsdp2};

/// What the checker finds while the plan runs on the CPU.
inline std::vector<Finding> weight_findings(const Scenario& s, const Planned& planned) {
  const auto backend = make_backend("cpu", {.profile = "ideal"});
  const ScenarioData data(s);
  WeightChecker checker(s, data, planned);
  RunEvents events;
  events.stops = checker.stops(*backend);
  events.at_stop = [&](OpIndex op) { checker.at_stop(op, *backend); };
  events.at_end = [&] { checker.at_end(*backend); };
  run(planned, s, data, *backend, events);
  return checker.take();
}

/// The clauses of the findings, each once, after `damage` has changed the plan's ops.
inline std::set<std::string> clauses_after(const Scenario& s, const std::function<void(Planned&)>& damage) {
  Planned planned = plan_of(s);
  damage(planned);
  std::set<std::string> clauses;
  for (const Finding& finding : weight_findings(s, planned)) clauses.insert(finding.clause);
  return clauses;
}

/// Erases the first op that `is_wanted` from step `step` on; true when there is one.
inline bool erase_first(Planned& planned, std::int32_t step,
                        const std::function<bool(const Op&)>& is_wanted) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (edit.op(i).why.step != step || !is_wanted(edit.op(i))) continue;
    edit.erase(i);
    return edit.commit();
  }
  return false;
}

template <class Action>
std::int64_t count_of(const Plan& plan, std::int32_t step) {
  return std::ranges::count_if(plan.ops, [&](const Op& op) {
    return op.why.step == step && std::holds_alternative<Action>(op.action);
  });
}

}  // namespace shardcheck::tests
