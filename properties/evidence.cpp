#include "properties/evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/contract/monitor.h"
#include "properties/diagnosis/lost_bits.h"
#include "sim/executor/executor.h"
#include "sim/faults/zoo.h"
#include "sim/oracle/checker.h"
#include "sim/oracle/weight_checker.h"
#include "sim/planner/planner.h"

namespace shardcheck {
namespace {

bool is_of_types(const Finding& finding) {
  return finding.clause == "W16" || finding.clause == "W38";
}

/// Wrong numbers that a rounding which the plan's judge has named explains, to the bit, break that clause.
void explain_by_roundings(Evidence& evidence, const Scenario& scenario, const ScenarioData& data) {
  for (Finding& finding : evidence.findings) {
    if (!finding.has_values || finding.op.value >= 0 || !finding.clause.starts_with('W')) continue;
    const auto cause = std::ranges::find_if(evidence.findings, [&](const Finding& other) {
      return is_of_types(other) && other.parameter == finding.parameter && !other.has_values;
    });
    if (cause == evidence.findings.end()) continue;
    const ReadElement read{{ParamId{finding.parameter}, finding.element}, finding.step, Rank{finding.rank}};
    const auto lost = lost_bits(evidence.planned, scenario, data, read);
    if (!lost || lost->got != finding.actual.value) continue;
    finding.clause = cause->clause;
    finding.sentence = fmt::format("every contribution is there, only rounded: {}", lost->sentence);
    finding.provenance.clear();
  }
}

}  // namespace

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
  explain_by_roundings(evidence, scenario, data);
  evidence.fingerprint = checker.fingerprint();
  evidence.budget_used = checker.budget_used();
  return evidence;
}

}  // namespace shardcheck
