#include "properties/linear_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "core/assert.h"
#include "properties/diagnosis/contents.h"
#include "properties/diagnosis/reading.h"
#include "properties/diagnosis/signatures.h"
#include "properties/diagnosis/subject.h"
#include "sim/executor/executor.h"
#include "sim/oracle/oracle.h"

namespace shardcheck {
namespace {

constexpr std::size_t kMostLines = 12;

std::int64_t uses_of(const Scenario& s, std::int32_t parameter) {
  return std::ranges::count(s.uses, parameter, &ScenarioUse::parameter);
}

bool is_probed(const Scenario& s, std::int32_t parameter) {
  const ScenarioParameter& p = s.parameters[static_cast<std::size_t>(parameter)];
  return p.trainable && p.numel() > 0 && uses_of(s, parameter) > 0;
}

/// The contributions of the parameter that exist: used there, with tokens.
std::vector<ContributionKey> keys_of(const Scenario& s, std::int32_t parameter) {
  std::vector<ContributionKey> keys;
  const auto uses = static_cast<std::int32_t>(uses_of(s, parameter));
  const std::int32_t first = s.parameters[static_cast<std::size_t>(parameter)].stage * stage_size(s);
  for (std::int32_t step = 0; step < s.steps; ++step) {
    for (std::int32_t rank = first; rank < first + stage_size(s); ++rank) {
      for (std::int32_t m = 0; m < s.microbatches; ++m) {
        if (!contributes(s, {parameter, step, rank, m, 0})) continue;
        for (std::int32_t use = 0; use < uses; ++use) keys.push_back({parameter, step, rank, m, use});
      }
    }
  }
  return keys;
}

class Prober {
 public:
  Prober(Backend& backend, const Scenario& scenario)
      : backend_(backend),
        scenario_(scenario),
        planned_(rewritten_plan(scenario, Poison::large)),
        data_(scenario),
        oracle_(scenario, data_) {}

  LinearProbe run() {
    LinearProbe result;
    const std::vector<std::pair<std::int32_t, Finding>> garbage = run_empty();
    ++result.runs;
    for (std::int32_t p = 0; p < std::ssize(scenario_.parameters); ++p) {
      if (!is_probed(scenario_, p)) continue;
      result.parameters.push_back(probe_parameter(p, result.runs));
      const auto left =
          std::ranges::find(garbage, p, [](const std::pair<std::int32_t, Finding>& g) { return g.first; });
      if (left != garbage.end())
        result.findings.push_back(left->second);
      else if (!result.parameters.back().wrong.empty())
        result.findings.push_back(finding_of(result.parameters.back()));
    }
    return result;
  }

 private:
  /// Calls see(step, reading) for what every owner of the parameter reads, when `live` alone contributes.
  template <class See>
  void run_with(std::optional<ContributionKey> live, std::optional<std::int32_t> parameter, See see) {
    data_.keep_only(live);
    RunEvents events;
    events.at_finish = [&](std::int32_t step) {
      for (const Placement& owned : planned_.plan.owned) {
        if (parameter && owned.parameter.value != *parameter) continue;
        if (owned.view.numel > 0 && backend_.holds(planned_.plan, owned.rank))
          see(step, owned, read_sightings(backend_, planned_.plan, owned.rank, owned.view));
      }
    };
    shardcheck::run(planned_, scenario_, data_, backend_, events);
  }

  /// What is left when nobody contributes: one finding a parameter.
  std::vector<std::pair<std::int32_t, Finding>> run_empty() {
    std::vector<std::pair<std::int32_t, Finding>> found;
    std::set<std::int32_t> seen;
    run_with(std::nullopt, std::nullopt,
             [&](std::int32_t step, const Placement& owned, const std::vector<Sighting>& read) {
               const auto at = std::ranges::find_if(read, [](const Sighting& s) { return s.value != 0; });
               if (at == read.end() || !seen.insert(owned.parameter.value).second) return;
               Finding finding = about(owned.parameter.value, owned.rank.value, step);
               finding.clause = "W3";
               finding.sentence =
                   "all contributions are zero and the gradient is not: undefined bytes enter it";
               finding.element = owned.first + (at - read.begin());
               finding.has_values = true;
               finding.expected = {0, 0, at->dtype};
               finding.actual = *at;
               found.emplace_back(owned.parameter.value, std::move(finding));
             });
    return found;
  }

  ProbedParameter probe_parameter(std::int32_t parameter, std::int64_t& runs) {
    ProbedParameter probed{.parameter = parameter, .scale = oracle_.scale_of(parameter)};
    for (const ContributionKey& key : keys_of(scenario_, parameter)) {
      ++runs;
      ++probed.contributions;
      run_with(key, parameter,
               [&](std::int32_t step, const Placement& owned, const std::vector<Sighting>& read) {
                 add(probed, key, step, owned, read);
               });
    }
    if (!probed.wrong.empty()) probed.patterns = patterns_of(probed);
    return probed;
  }

  /// The weight in one placement; another placement of the same reader must agree with it.
  void add(ProbedParameter& probed, const ContributionKey& key, std::int32_t step, const Placement& owned,
           const std::vector<Sighting>& read) {
    const std::int64_t columns = scenario_.parameters[static_cast<std::size_t>(probed.parameter)].columns();
    const Rows rows{owned.first / columns, (owned.first + owned.view.numel - 1) / columns + 1};
    const Expected expected = oracle_.expected(probed.parameter, step, owned.rank.value, rows);
    const auto offset = static_cast<std::size_t>(owned.first - rows.first * columns);
    SimulatedWeight weight{.key = key, .reader = owned.rank.value, .step = step};
    weight.weight = read.front().value;
    weight.right = expected.value[offset];
    bool is_right = true;
    for (std::size_t i = 0; i < read.size(); ++i) {
      weight.is_one_number &= read[i].value == weight.weight;
      is_right &= agrees(probed.parameter, read[i].value, expected, offset + i);
    }
    if (is_right) return;
    const auto same = std::ranges::find_if(probed.wrong, [&](const SimulatedWeight& w) {
      return w.reader == weight.reader && w.step == step && w.key == key;
    });
    if (same == probed.wrong.end())
      probed.wrong.push_back(weight);
    else
      same->is_one_number &= weight.is_one_number && same->weight == weight.weight;
  }

  bool agrees(std::int32_t parameter, double actual, const Expected& expected, std::size_t i) const {
    const Exactness& exactness = oracle_.exactness(parameter);
    if (exactness.is_exact) return actual == expected.value[i];
    return std::fabs(actual - expected.value[i]) <=
           exactness.growth * expected.magnitude[i] + exactness.underflow;
  }

  Finding about(std::int32_t parameter, std::int32_t rank, std::int32_t step) const {
    Finding finding;
    finding.rank = rank;
    finding.step = step;
    finding.parameter = parameter;
    finding.parameter_name = scenario_.parameters[static_cast<std::size_t>(parameter)].name;
    finding.element = 0;
    return finding;
  }

  /// Counted wrongly where every wrong weight is a whole multiple of the right one, else scaled wrongly.
  Finding finding_of(const ProbedParameter& probed) const {
    const SimulatedWeight& first = probed.wrong.front();
    Finding finding = about(probed.parameter, first.reader, first.step);
    const bool counted = std::ranges::all_of(probed.wrong, [&](const SimulatedWeight& w) {
      const double times = w.weight / probed.scale;
      return w.is_one_number && times == std::round(times);
    });
    finding.clause = counted ? "W2" : "W24";
    finding.sentence = counted ? "probing shows contributions that do not enter the gradient exactly once"
                               : "probing shows contributions that do not enter with the one right weight";
    const auto uses = static_cast<std::int32_t>(uses_of(scenario_, probed.parameter));
    for (const SimulatedWeight& weight : probed.wrong) {
      if (finding.provenance.size() == kMostLines) break;
      finding.provenance.push_back(to_text(weight, uses));
    }
    return finding;
  }

  /// The signatures that the weights on the first wrong reader show, in its step.
  std::vector<std::string> patterns_of(const ProbedParameter& probed) const {
    const SimulatedWeight& first = probed.wrong.front();
    const Finding finding = about(probed.parameter, first.reader, first.step);
    if (!names_element(finding, scenario_)) return {};
    Subject subject(scenario_, finding, Poison::large);
    subject.reader = Rank{first.reader};
    Symptoms symptoms{.subject = subject, .read = {0}, .wanted = {0}};  // only the weights speak
    const auto domain = contributors(scenario_, probed.parameter, first.reader);
    for (const ContributionKey& key : keys_of(scenario_, probed.parameter)) {
      if (std::ranges::find(domain, key.rank, &Contributor::rank) == domain.end()) continue;
      const auto wrong = std::ranges::find_if(probed.wrong, [&](const SimulatedWeight& w) {
        return w.reader == first.reader && w.step == first.step && w.key == key;
      });
      const double right = key.step == first.step ? probed.scale : 0;
      if (wrong != probed.wrong.end() && !wrong->is_one_number) return {};
      const double weight = wrong == probed.wrong.end() ? right : wrong->weight;
      if (weight != 0 || right != 0) symptoms.weights.push_back({key, weight, right});
    }
    return recognised(symptoms);
  }

  Backend& backend_;
  const Scenario& scenario_;
  Planned planned_;
  ScenarioData data_;
  Oracle oracle_;
};

}  // namespace

std::int64_t probes_of(const Scenario& scenario) {
  std::int64_t runs = 1;
  for (std::int32_t p = 0; p < std::ssize(scenario.parameters); ++p) {
    if (is_probed(scenario, p)) runs += std::ssize(keys_of(scenario, p));
  }
  return runs;
}

LinearProbe probe(Backend& backend, const Scenario& scenario) {
  SC_ASSERT(probes_of(scenario) <= kMostProbes, "a scenario that the caller should have refused");
  return Prober(backend, scenario).run();
}

std::string to_text(const SimulatedWeight& weight, std::int32_t uses) {
  const std::string use = uses > 1 ? fmt::format(", use {}", weight.key.use) : "";
  const std::string who = fmt::format("microbatch {} of rank {}{} (step {})", weight.key.microbatch,
                                      weight.key.rank, use, weight.key.step);
  if (!weight.is_one_number)
    return fmt::format("{} has no single weight in step {} on rank {}: elements differ", who, weight.step,
                       weight.reader);
  return fmt::format("{} has weight {} in step {} on rank {}, where {} is right", who,
                     weight_text(weight.weight), weight.step, weight.reader, weight_text(weight.right));
}

}  // namespace shardcheck
