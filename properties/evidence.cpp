#include "properties/evidence.h"

#include "core/contract/monitor.h"
#include "sim/executor/executor.h"
#include "sim/faults/zoo.h"
#include "sim/oracle/checker.h"
#include "sim/oracle/weight_checker.h"
#include "sim/planner/planner.h"

namespace shardcheck {

Evidence examine(Backend& backend, const Scenario& scenario, Poison poison) {
  Planned planned = plan_of(scenario);
  planned.plan.poison = poison;
  apply_fault(planned, scenario);
  return examine(backend, scenario, std::move(planned));
}

Evidence examine(Backend& backend, const Scenario& scenario, Planned planned) {
  Evidence evidence{.planned = std::move(planned)};
  evidence.findings = judge(evidence.planned.plan);
  const ScenarioData data(scenario);
  ValueChecker checker(scenario, data, evidence.planned);
  WeightChecker weights(scenario, data, evidence.planned);
  RunEvents events;
  events.at_finish = [&](std::int32_t step) { checker.check(step, backend); };
  events.stops = weights.stops(backend);
  events.at_stop = [&](OpIndex op) { weights.at_stop(op, backend); };
  events.at_end = [&] {
    checker.read_outputs(backend);
    if (!events.stops.empty()) weights.at_end(backend);
  };
  const auto executed = run(evidence.planned, scenario, data, backend, events);
  // The same ops in the same order give the same verdict: only another order is judged again.
  bool as_planned = executed.size() == evidence.planned.plan.ops.size();
  for (std::size_t i = 0; as_planned && i < executed.size(); ++i)
    as_planned = executed[i].value == static_cast<int>(i);
  if (!as_planned) {
    for (Finding& finding : judge(evidence.planned.plan, executed))
      evidence.findings.push_back(std::move(finding));
  }
  for (Finding& finding : weights.take()) evidence.findings.push_back(std::move(finding));
  for (Finding& finding : checker.take()) evidence.findings.push_back(std::move(finding));
  evidence.fingerprint = checker.fingerprint();
  evidence.budget_used = checker.budget_used();
  return evidence;
}

}  // namespace shardcheck
