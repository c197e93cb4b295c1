#include "properties/loop_relations.h"

#include <algorithm>

#include "properties/evidence.h"
#include "properties/protocol_trace.h"
#include "sim/oracle/exactness.h"

namespace shardcheck {
namespace {

/// A breach that only the comparison shows, placed where the scenario's own run differs from the oracle, if
/// it does.
Finding of_comparison(std::string_view clause, std::string_view sentence, const Evidence& own) {
  Finding finding;
  const auto place = std::ranges::find_if(own.findings, [](const Finding& f) { return f.has_values; });
  if (place != own.findings.end()) finding = *place;
  finding.clause = clause;
  finding.sentence = sentence;
  return finding;
}

/// Runs the scenario and the one without, and adds a finding of `clause` when a consumer reads other bits.
std::vector<Finding> compare_bits(Backend& backend, const Scenario& scenario, const Scenario& without,
                                  std::string_view clause, std::string_view sentence) {
  Evidence own = examine(backend, scenario, Poison::quiet_nan);
  const Evidence other = examine(backend, without, Poison::quiet_nan);
  if (own.fingerprint != other.fingerprint) own.findings.push_back(of_comparison(clause, sentence, own));
  return std::move(own.findings);
}

bool has_exact_sums(const Scenario& s) {
  const ScenarioData data(s);
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    if (!exactness_of(s, data, p).is_exact) return false;
  }
  return true;
}

}  // namespace

std::vector<Finding> recompute_neutrality(Backend& backend, const Scenario& scenario) {
  if (scenario.loop.recompute == Recomputed{}) return examine(backend, scenario, Poison::quiet_nan).findings;
  Scenario without = scenario;
  without.loop.recompute = {};
  return compare_bits(backend, scenario, without, "W37", "recomputing activations changes a gradient");
}

std::vector<Finding> clean_reset(Backend& backend, const Scenario& scenario) {
  Evidence own = examine(backend, scenario, Poison::quiet_nan);
  if (scenario.loop.aborts.empty() && scenario.loop.resumes.empty()) return std::move(own.findings);
  Scenario without = scenario;
  without.loop.aborts.clear();
  without.loop.resumes.clear();
  const Evidence straight = examine(backend, without, Poison::quiet_nan);
  if (const auto difference = first_difference(own.planned.plan, straight.planned.plan)) {
    Finding finding{
        .clause = "W40",
        .sentence = "after an abort or a resume the step does something else than in a fresh process"};
    name_op(finding, own.planned.plan, difference->op);
    finding.step = difference->step;
    own.findings.push_back(std::move(finding));
  }
  if (own.fingerprint != straight.fingerprint)
    own.findings.push_back(
        of_comparison("W40", "after an abort or a resume a gradient has other bits than without", own));
  return std::move(own.findings);
}

std::vector<Finding> reduction_time(Backend& backend, const Scenario& scenario) {
  Scenario other = scenario;
  if (scenario.strategy == Strategy::fsdp2)
    other.sync = scenario.sync == Sync::every ? Sync::last : Sync::every;
  else
    other.overlap = !scenario.overlap;
  const bool same_order = scenario.strategy != Strategy::fsdp2;
  if (!same_order && (!has_exact_sums(scenario) || !has_exact_sums(other)))
    return examine(backend, scenario, Poison::quiet_nan).findings;
  return compare_bits(backend, scenario, other, "W31", "a gradient changes with the time of its reduction");
}

std::vector<Finding> bystanders(Backend& backend, const Scenario& scenario) {
  if (scenario.fp8) return examine(backend, scenario, Poison::quiet_nan).findings;
  const auto added = static_cast<std::int32_t>(scenario.parameters.size());
  ScenarioParameter bystander{.name = "bystander", .shape = {2, 3}};
  bystander.unit = scenario.parameters.back().unit;
  bystander.stage = scenario.parameters.back().stage;
  Scenario unused = scenario, frozen = scenario;
  unused.parameters.push_back(bystander);
  bystander.trainable = false;
  frozen.parameters.push_back(bystander);
  frozen.uses.push_back({added, Producer::unfused, -1});
  std::vector<Finding> findings =
      compare_bits(backend, scenario, frozen, "W10", "a frozen parameter changes the gradient of another");
  // R4 zeroes nothing, so that an unused parameter is stale (wgrad 4.4).
  if (scenario.write_mode == WriteMode::r4) return findings;
  for (Finding& finding : examine(backend, unused, Poison::quiet_nan).findings)
    findings.push_back(std::move(finding));
  return findings;
}

}  // namespace shardcheck
