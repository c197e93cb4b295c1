#include "properties/audit/patterns.h"

#include "properties/audit/probing.h"
#include "properties/diagnosis/signatures.h"
#include "properties/diagnosis/subject.h"

namespace shardcheck {
namespace {

/// The element as every rank reads it that has it.
std::vector<std::pair<Rank, double>> owners_of(const AuditTrace& trace, const Finding& finding) {
  std::vector<std::pair<Rank, double>> owners;
  for (const RankTrace& rank : trace.ranks) {
    for (const TracedTensor& t : rank.tensors) {
      const bool is_it = t.what == Traced::gradient && t.is_present && t.step == finding.step &&
                         t.parameter == finding.parameter && finding.element >= t.first &&
                         finding.element < t.last();
      if (is_it)
        owners.emplace_back(
            Rank{rank.rank},
            static_cast<double>(t.values[static_cast<std::size_t>(finding.element - t.first)]));
    }
  }
  return owners;
}

}  // namespace

std::vector<std::string> patterns_of(const AuditTrace& trace, const Finding& finding,
                                     const TracedTensor& tensor) {
  const Scenario& scenario = trace.audited.scenario;
  if (!names_element(finding, scenario)) return {};
  Subject subject(scenario, finding, Poison::quiet_nan);
  if (subject.reader.value < 0) return {};
  const Combination right = finished_for_reader(subject, subject.reference, subject.step);
  subject.reader = Rank{finding.rank};  // who owns what is the framework's to say, not the plan's
  Observation seen{.finished = owners_of(trace, finding), .first = tensor.first};
  seen.range.assign(tensor.values.begin(), tensor.values.end());
  const Combination unknown{.is_known = false};
  return recognised(symptoms_of(subject, seen, unknown, right));
}

std::vector<std::string> patterns_of_weights(const AuditTrace& trace, Finding finding,
                                             std::span<const ProbedWeight> probed) {
  const Scenario& scenario = trace.audited.scenario;
  finding.element = 0;
  if (!names_element(finding, scenario)) return {};
  Subject subject(scenario, finding, Poison::quiet_nan);
  subject.reader = Rank{finding.rank};
  // Patterns of values need a range; this one is empty of surprises, so that only the weights speak.
  Symptoms symptoms{.subject = subject, .read = {0}, .wanted = {0}};
  for (const ProbedWeight& weight : probed) {
    if (weight.key.parameter != finding.parameter || weight.reader != finding.rank) continue;
    if (!weight.is_one_number) return {};
    symptoms.weights.push_back({weight.key, weight.weight, weight.right});
  }
  return recognised(symptoms);
}

}  // namespace shardcheck
