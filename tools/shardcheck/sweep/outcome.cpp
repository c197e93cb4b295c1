#include "tools/shardcheck/sweep/outcome.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "properties/evidence.h"
#include "sim/faults/zoo.h"
#include "sim/planner/planner.h"

namespace shardcheck {

std::string Outcome::text() const {
  switch (kind) {
    case Kind::held: return "held";
    case Kind::no_fault: return "no fault";
    case Kind::invalid: return "-";
    case Kind::broken: break;
  }
  return clauses.size() == 1 ? clauses[0] : fmt::format("{} +{}", clauses[0], clauses.size() - 1);
}

Outcome outcome_of(const Scenario& scenario, const std::vector<Knob>& knobs, const Setting& setting,
                   Backend& backend) {
  Scenario turned_scenario;
  try {
    turned_scenario = turned(scenario, knobs, setting);
  } catch (const Error& error) {
    return {Outcome::Kind::invalid, {}, error.what()};
  }
  Planned planned = plan_of(turned_scenario);
  const bool is_faulty = apply_fault(planned, turned_scenario);
  planned.plan.poison = Poison::quiet_nan;
  Outcome outcome;
  if (!turned_scenario.fault.empty() && !is_faulty)
    outcome = {
        Outcome::Kind::no_fault, {}, fmt::format("{} has nothing to break here", turned_scenario.fault)};
  for (const Finding& finding : examine(backend, turned_scenario, std::move(planned)).findings) {
    if (outcome.kind != Outcome::Kind::broken) outcome = {Outcome::Kind::broken, {}, finding.sentence};
    if (std::ranges::find(outcome.clauses, finding.clause) == outcome.clauses.end())
      outcome.clauses.push_back(finding.clause);
  }
  return outcome;
}

namespace {

bool is_broken(const Outcome& outcome) {
  return outcome.kind == Outcome::Kind::broken;
}

/// How often a value of a knob held and broke.
struct Tally {
  int held = 0, broken = 0;
};

/// True when the knob changes the verdict while all other knobs stay where they are.
bool flips(std::size_t knob, const std::vector<Setting>& settings, const std::vector<Outcome>& outcomes) {
  std::map<Setting, std::set<bool>> by_rest;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    Setting rest = settings[i];
    rest[knob] = 0;
    if (outcomes[i].kind != Outcome::Kind::invalid) by_rest[rest].insert(is_broken(outcomes[i]));
  }
  return std::ranges::any_of(by_rest, [](const auto& each) { return each.second.size() > 1; });
}

}  // namespace

std::vector<std::string> what_decides(const std::vector<Knob>& knobs, const std::vector<Setting>& settings,
                                      const std::vector<Outcome>& outcomes) {
  std::vector<std::string> sentences;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (!flips(k, settings, outcomes)) {
      sentences.push_back(fmt::format("{} makes no difference", knobs[k].name));
      continue;
    }
    std::vector<Tally> tallies(knobs[k].values.size());
    for (std::size_t i = 0; i < settings.size(); ++i) {
      Tally& tally = tallies[settings[i][k]];
      tally.held += !is_broken(outcomes[i]) && outcomes[i].kind != Outcome::Kind::invalid;
      tally.broken += is_broken(outcomes[i]);
    }
    std::vector<std::string> always, never, sometimes;
    for (std::size_t value = 0; value < tallies.size(); ++value) {
      const Tally& tally = tallies[value];
      if (tally.held + tally.broken == 0) continue;
      (tally.held == 0     ? always
       : tally.broken == 0 ? never
                           : sometimes)
          .push_back(shown(knobs[k].values[value]));
    }
    std::vector<std::string> parts;
    if (!always.empty()) parts.push_back(fmt::format("always broken at {}", fmt::join(always, ", ")));
    if (!never.empty()) parts.push_back(fmt::format("never at {}", fmt::join(never, ", ")));
    if (!sometimes.empty()) parts.push_back(fmt::format("it depends at {}", fmt::join(sometimes, ", ")));
    sentences.push_back(fmt::format("{} flips the result: {}", knobs[k].name, fmt::join(parts, "; ")));
  }
  return sentences;
}

}  // namespace shardcheck
