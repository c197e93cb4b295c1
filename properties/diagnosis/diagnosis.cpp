#include "properties/diagnosis/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/contract/monitor.h"
#include "core/joint.h"
#include "properties/diagnosis/contents.h"
#include "properties/diagnosis/first_wrong.h"
#include "properties/diagnosis/lookalikes.h"
#include "properties/diagnosis/lost_bits.h"
#include "properties/diagnosis/plan_repairs.h"
#include "properties/diagnosis/reading.h"
#include "properties/diagnosis/signatures.h"
#include "properties/diagnosis/subject.h"
#include "sim/faults/zoo.h"
#include "sim/planner/planner.h"

namespace shardcheck {
namespace {

constexpr std::size_t kMostLines = 48;  // of a finding's history
constexpr std::size_t kMostSentences = 16;

/// A finding with a number near the large poison was made with it; all others show with NaN too.
Poison poison_of(const Finding& finding) {
  const bool huge =
      finding.has_values && std::isfinite(finding.actual.value) && std::fabs(finding.actual.value) > 0x1p80;
  return huge ? Poison::large : Poison::quiet_nan;
}

void write_history(Finding& finding, const std::vector<ByteEvent>& events) {
  finding.history.clear();
  bool marked = finding.op.value < 0;
  const auto mark = [&](OpIndex before) {
    if (marked || before <= finding.op) return;
    finding.history.push_back(fmt::format("op {}: {}  [first wrong]", finding.op.value, finding.op_text));
    marked = true;
  };
  for (const ByteEvent& event : events) {
    mark(event.op);
    if (finding.history.size() >= kMostLines) {
      finding.history.push_back(fmt::format("and more, {} in all", events.size()));
      return;
    }
    marked |= event.op == finding.op;
    finding.history.push_back(to_text(event) + (event.op == finding.op ? "  [first wrong]" : ""));
  }
  mark(OpIndex{std::numeric_limits<std::int32_t>::max()});
}

/// The op names itself; the step whose gradient is wrong stays the finding's.
void name_first_wrong(Finding& finding, const Plan& plan, const FirstWrong& wrong) {
  if (finding.op.value >= 0 || !wrong.first_wrong) return;
  const std::int32_t step = finding.step;
  name_op(finding, plan, *wrong.first_wrong);
  if (step >= 0) finding.step = step;
}

void write_provenance(Finding& finding, const Subject& subject, const Combination& actual,
                      const Combination& right) {
  if (!finding.provenance.empty() || !actual.is_known) return;
  if (finding.has_values && !same_number(actual.value, finding.actual.value)) return;
  finding.provenance = differences(subject, actual, right);
  if (finding.provenance.size() <= kMostSentences) return;
  const std::size_t more = finding.provenance.size() - kMostSentences;
  finding.provenance.resize(kMostSentences);
  finding.provenance.push_back(fmt::format("and {} more", more));
}

/// What both entries need.
struct Core {
  Core(const Scenario& scenario, const Finding& finding, Backend& backend)
      : subject(scenario, finding, poison_of(finding)),
        actual(finished_for_reader(subject, subject.planned, subject.step)),
        right(finished_for_reader(subject, subject.reference, subject.step)),
        ranks(ranks_that_matter(subject, actual, right)),
        seen(observe(subject, ranks, actual, backend)),
        wrong(first_wrong(subject, ranks, seen.events, finding.op)) {}

  Subject subject;
  Combination actual, right;
  std::vector<Rank> ranks;
  Observation seen;
  FirstWrong wrong;
};

/// The monitor names the first element of a range. One in which the wrong contribution shows says more.
void move_to_telling_element(Finding& finding, const Scenario& scenario) {
  if (finding.has_values || scenario.data != DataMode::provenance) return;
  const Subject subject(scenario, finding, Poison::quiet_nan);
  const Combination actual = finished_for_reader(subject, subject.planned, subject.step);
  const Combination right = finished_for_reader(subject, subject.reference, subject.step);
  std::optional<std::int64_t> lost;
  for (const Combination* sum : {&right, &actual}) {
    for (const Term& term : sum->terms) {
      if (actual.weight_of(term.contribution) == right.weight_of(term.contribution)) continue;
      if (is_visible(subject, term.contribution)) return;
      if (!lost) lost = term.contribution;
    }
  }
  if (lost) finding.element = element_showing(subject, *lost);
}

bool is_of_types(const Finding& finding) {
  return finding.clause == "W16" || finding.clause == "W38";
}

/// A cast that nobody declared shows in some elements only: one of the first that lose a bit.
void move_to_rounded_element(Finding& finding, const Scenario& scenario) {
  constexpr std::int64_t kMostTried = 64;
  if (finding.has_values || !is_of_types(finding)) return;
  const Subject subject(scenario, finding, Poison::quiet_nan);
  const std::int64_t numel = scenario.parameters[static_cast<std::size_t>(finding.parameter)].numel();
  const std::int64_t last = std::min(numel, finding.element + kMostTried);
  for (std::int64_t element = finding.element; element < last; ++element) {
    const ReadElement read{{subject.element.parameter, element}, subject.step, subject.reader};
    if (!lost_bits(subject.planned, scenario, subject.data, read)) continue;
    finding.element = element;
    return;
  }
}

/// What the cast costs, where the number read is the one that the plan's types make of the sum.
void write_lost_bits(Finding& finding, const Subject& subject) {
  if (!is_of_types(finding) || !finding.has_values) return;
  const auto lost = lost_bits(subject.planned, subject.scenario, subject.data,
                              {subject.element, subject.step, subject.reader});
  if (!lost || !same_number(lost->got, finding.actual.value)) return;
  finding.provenance = {fmt::format("every contribution is in it once; {}", lost->sentence)};
}

/// A finding of the monitor gets the numbers that its rank reads in the end, where they are wrong.
void write_values(Finding& finding, const Symptoms& symptoms) {
  const Subject& subject = symptoms.subject;
  if (finding.has_values || subject.reader != subject.rank) return;
  if (same_number(symptoms.actual, symptoms.expected)) return;
  const DType type = subject.scenario.main_grad;
  finding.has_values = true;
  finding.expected = sighting_of(symptoms.expected, type);
  finding.actual = sighting_of(symptoms.actual, type);
}

Symptoms symptoms_of(const Core& core) {
  return symptoms_of(core.subject, core.seen, core.actual, core.right);
}

void complete(Finding& finding, const Core& core) {
  name_first_wrong(finding, core.subject.planned.plan, core.wrong);
  write_provenance(finding, core.subject, core.actual, core.right);
  write_values(finding, symptoms_of(core));
  write_lost_bits(finding, core.subject);
  write_history(finding, core.seen.events);
}

/// Codes, scales and versions have a history of their own.
bool is_of_weight(const Finding& finding, const Scenario& scenario) {
  return scenario.fp8 && finding.clause.starts_with('F');
}

Planned planned_with_fault(const Scenario& scenario) {
  Planned planned = plan_of(scenario);
  apply_fault(planned, scenario);
  return planned;
}

/// What became of the weight up to the finding's op, or to the end where only numbers show it.
void write_weight_history(Finding& finding, const Plan& plan) {
  const bool has_op = finding.op.value >= 0;
  const OpIndex end = has_op ? finding.op : OpIndex{static_cast<std::int32_t>(plan.ops.size())};
  if (finding.parameter >= 0) finding.history = history_of_weight(plan, ParamId{finding.parameter}, end);
  if (!has_op) return;
  finding.history.push_back(fmt::format("op {}: {}  [first wrong]", finding.op.value, finding.op_text));
}

/// Single changes of the plan go before changes of the scenario.
void put_first(std::vector<Counterfactual>& all, const std::vector<std::string>& repairs) {
  std::vector<Counterfactual> joined;
  for (const std::string& repair : repairs)
    joined.push_back({.change = repair, .mends = true, .instead = ""});
  joined.insert(joined.end(), all.begin(), all.end());
  all = std::move(joined);
}

bool is_readable(const Finding& finding, const Scenario& scenario) {
  if (!names_element(finding, scenario)) return false;
  return Subject(scenario, finding, Poison::quiet_nan).reader.value >= 0;
}

}  // namespace

void complete(Finding& finding, const Scenario& scenario, Backend& backend) {
  if (is_of_weight(finding, scenario))
    return write_weight_history(finding, planned_with_fault(scenario).plan);
  if (!is_readable(finding, scenario)) return;
  move_to_telling_element(finding, scenario);
  move_to_rounded_element(finding, scenario);
  complete(finding, Core(scenario, finding, whole_of(backend)));
}

Diagnosis diagnose(const Scenario& scenario, const Finding& finding, Backend& backend) {
  Diagnosis diagnosis{.finding = finding};
  std::vector<std::string> repairs;
  if (is_of_weight(finding, scenario)) {
    const Planned planned = planned_with_fault(scenario);
    write_weight_history(diagnosis.finding, planned.plan);
    if (finding.op.value >= 0) diagnosis.first_wrong = finding.op;
    diagnosis.first_wrong_because = finding.has_values ? "the first op whose numbers are wrong"
                                                       : "the plan shows it, before anything runs";
    repairs = plan_repairs(planned.plan, finding);
  } else if (is_readable(finding, scenario)) {
    move_to_telling_element(diagnosis.finding, scenario);
    move_to_rounded_element(diagnosis.finding, scenario);
    Core core(scenario, diagnosis.finding, whole_of(backend));
    complete(diagnosis.finding, core);
    diagnosis.last_right = core.wrong.last_right;
    diagnosis.first_wrong = core.wrong.first_wrong;
    diagnosis.first_wrong_because = core.wrong.sentence;
    diagnosis.signatures = recognised(symptoms_of(core));
    diagnosis.history = std::move(core.seen.events);
  } else {
    if (finding.op.value >= 0) diagnosis.first_wrong = finding.op;
    if (finding.history.empty())
      diagnosis.notes.push_back(
          "the finding names no element of a gradient, so there is no history of bytes");
  }
  if (writes_of(scenario) > kMostWrites) {
    diagnosis.notes.push_back(
        fmt::format("no counterfactuals: a run writes {:.0f} elements, and they run only up to {:.0f}",
                    writes_of(scenario), kMostWrites));
  } else {
    diagnosis.counterfactuals = counterfactuals(scenario, finding, poison_of(finding), whole_of(backend));
    if (diagnosis.counterfactuals.empty()) {
      diagnosis.notes.push_back(fmt::format(
          "no counterfactuals: one run of this scenario does not show {} (it takes two, or it is mended)",
          finding.clause));
    }
  }
  put_first(diagnosis.counterfactuals, repairs);
  diagnosis.lookalikes = lookalikes(scenario, finding, zoo());
  return diagnosis;
}

}  // namespace shardcheck
