#include "properties/diagnosis/subject.h"

#include <algorithm>
#include <cmath>

#include "core/contract/monitor.h"
#include "sim/faults/zoo.h"
#include "sim/planner/planner.h"

namespace shardcheck {
namespace {

/// Owned placements of the element whose readers share its gradient with `rank`.
std::vector<Placement> owners_of(const Subject& subject, const Plan& plan, Rank rank) {
  const auto domain =
      reduction_domain(subject.scenario, subject.element.parameter.value, std::max(rank.value, 0));
  std::vector<Placement> owners;
  for (const Placement& p : plan.owned) {
    const std::int64_t inside = subject.element.index - p.first;
    const bool has_it = p.parameter == subject.element.parameter && inside >= 0 && inside < p.view.numel;
    if (has_it && std::ranges::find(domain, p.rank.value) != domain.end()) {
      owners.push_back(p);
      owners.back().view = {p.view.buffer, p.view.offset + inside, 1};
    }
  }
  return owners;
}

}  // namespace

Scenario reference_of(const Scenario& scenario) {
  Scenario reference = scenario;
  reference.fault.clear();
  reference.zeroing = true;
  if (!has_reference_hooks(scenario.write_mode)) {
    reference.write_mode = WriteMode::r5;
    reference.first_microbatch = FirstMicrobatch::none;
  }
  // A replayed graph is sound only where its first execution was typical.
  if (scenario.execution == Execution::graph && !judge(plan_of(reference).plan).empty())
    reference.execution = Execution::eager;
  return reference;
}

Planned rewritten_plan(const Scenario& scenario, Poison poison) {
  Planned planned = plan_of(scenario);
  planned.plan.poison = poison;
  apply_fault(planned, scenario);
  return planned;
}

Subject::Subject(const Scenario& of, const Finding& finding, Poison poison)
    : scenario(of),
      planned(rewritten_plan(of, poison)),
      reference(rewritten_plan(reference_of(of), poison)),
      data(of),
      oracle(of, data),
      element{ParamId{finding.parameter}, finding.element},
      step(finding.step >= 0 ? finding.step : of.steps - 1),
      rank{finding.rank} {
  if (finding.clause == "W39") data.use_reals(Reals::of_its_own);  // as the runs that differ
  const auto owners = owners_of(*this, planned.plan, rank);
  const auto own = std::ranges::find(owners, rank, &Placement::rank);
  if (own != owners.end())
    reader = rank;
  else if (!owners.empty())
    reader = owners.front().rank;
}

ByOwner finished(const Subject& subject, const Planned& planned, std::int32_t step) {
  const auto owners = owners_of(subject, planned.plan, subject.reader);
  ByOwner result;
  for (const Placement& owner : owners) result.emplace_back(owner.rank, Combination{.undefined = 1});
  const OpIndex end = planned.finishes[static_cast<std::size_t>(step)];
  follow(planned, subject.scenario, subject.data, subject.element, [&](const ElementWrite& write) {
    if (write.op >= end) return;
    for (std::size_t i = 0; i < owners.size(); ++i) {
      if (owners[i].rank == write.rank && owners[i].view == write.place) result[i].second = write.after;
    }
  });
  return result;
}

Combination finished_for_reader(const Subject& subject, const Planned& planned, std::int32_t step) {
  for (auto& [rank, holds] : finished(subject, planned, step)) {
    if (rank == subject.reader) return holds;
  }
  return {.is_known = false};
}

bool same_number(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

bool names_element(const Finding& finding, const Scenario& scenario) {
  if (finding.parameter < 0 || finding.parameter >= std::ssize(scenario.parameters)) return false;
  const ScenarioParameter& p = scenario.parameters[static_cast<std::size_t>(finding.parameter)];
  const bool inside = finding.element >= 0 && finding.element < p.numel();
  return inside && p.trainable && finding.rank < world_size(scenario) && finding.step < scenario.steps;
}

}  // namespace shardcheck
