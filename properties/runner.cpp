#include "properties/runner.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "core/assert.h"
#include "core/error.h"
#include "core/integers.h"
#include "core/joint.h"
#include "core/numerics/philox.h"
#include "properties/case_search.h"
#include "properties/comparison.h"
#include "properties/generate/family.h"
#include "properties/generate/random_scenario.h"
#include "properties/generate/rapid.h"
#include "properties/generate/room.h"
#include "properties/generate/situations.h"
#include "properties/generate/soundness.h"
#include "properties/stretches.h"
#include "sim/faults/zoo.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

/// Cases of a random stretch: long enough that its start costs nothing, short enough that threads end
/// together.
constexpr std::int64_t kStretch = 250;
/// A search that was shorter may well have missed a corner.
constexpr std::int64_t kEnoughForCoverage = 2000;
/// Elements of a given scenario above which a failure is not shrunk: each try would cost seconds.
constexpr std::int64_t kMostToShrink = std::int64_t{1} << 16;

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

std::uint64_t seed_of(const RunOptions& options, const Property& property, std::int64_t stretch) {
  const auto words = philox(options.seed, hash_of(property.id), static_cast<std::uint64_t>(stretch));
  return words[0] | static_cast<std::uint64_t>(words[1]) << 32;
}

std::vector<Finding> findings_of(const Property& property, const RunOptions& options, Backend& backend,
                                 const Scenario& scenario) {
  std::vector<Finding> findings = ask(property, backend, scenario);
  if (!options.clause.empty())
    std::erase_if(findings, [&](const Finding& finding) { return finding.clause != options.clause; });
  return findings;
}

bool is_valid(const Scenario& scenario) {
  try {
    validate(scenario, "drawn");
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// A scenario in which the fault can show, and which is right but for it.
Scenario draw_for_fault(Draw& draw, Focus focus, const Fault& fault) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    Scenario s = random_scenario(draw, focus);
    fault.prepare(s);
    s.fault = fault.id;
    if (s.data == DataMode::provenance) make_room(s, 0);
    if (is_valid(s) && is_sound(s)) return s;
  }
  SC_ASSERT(false, "the fault prepares no scenario that is valid and right but for it");
  return {};
}

void count_situations(const Property& property, const Scenario& scenario,
                      std::vector<std::int64_t>& coverage) {
  if (property.reached != nullptr) {
    coverage.resize(property.situations().size());
    for (const std::size_t i : property.reached(scenario)) ++coverage[i];
    return;
  }
  const auto& all = situations();
  coverage.resize(all.size());
  const Geometry geometry = geometry_of(scenario);
  for (std::size_t i = 0; i < all.size(); ++i) coverage[i] += all[i].is_reached(scenario, geometry);
}

StretchReport random_stretch(const Property& property, const RunOptions& options, std::int64_t number,
                             const StretchContext& context) {
  const Fault* fault = options.fault.empty() ? nullptr : find_fault(options.fault);
  StretchReport report;
  Search random;
  random.seed = seed_of(options, property, number);
  random.cases = static_cast<std::int32_t>(std::min(kStretch, options.cases - number * kStretch));
  random.draw = [&](Draw& draw) {
    return fault == nullptr ? random_scenario(draw, property.focus)
                            : draw_for_fault(draw, property.focus, *fault);
  };
  random.holds = [&](const Scenario& scenario) {
    count_situations(property, scenario, report.coverage);
    const bool holds = findings_of(property, options, context.backend, scenario).empty();
    context.case_done();
    return holds;
  };
  random.is_over = context.is_over;
  SearchResult result = search(random);
  report.cases = result.cases;
  if (result.failing) report.failing = counterexample_of(*result.failing);
  return report;
}

StretchReport exhaustive_stretch(const Property& property, const RunOptions& options, const Scenario& cell,
                                 const StretchContext& context) {
  StretchReport report;
  Scenario head = cell;
  head.fault = options.fault;
  each_of_cell(head, [&](const Scenario& scenario) {
    if (context.is_over()) return false;
    ++report.cases;
    count_situations(property, scenario, report.coverage);
    if (!findings_of(property, options, context.backend, scenario).empty())
      report.failing = counterexample_of(scenario);
    context.case_done();
    return !report.failing;
  });
  return report;
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

bool is_stopped(const RunOptions& options) {
  const bool here = options.stop != nullptr && *options.stop;
  return options.anywhere ? options.anywhere(here) : here;
}

Failure shrunk_failure(const Property& property, const RunOptions& options, Backend& backend,
                       const Counterexample& first) {
  const auto is_over = [&] { return is_stopped(options); };
  if (property.kind != nullptr) return shrunk_case(property, backend, first, is_over);
  const auto holds = [&](const Scenario& s) { return findings_of(property, options, backend, s).empty(); };
  const Smallest smallest = smallest_failing(first.scenario, holds, is_over);
  Failure failure{.first = first, .shrunk = counterexample_of(smallest.scenario)};
  failure.tries = smallest.tries;
  failure.findings = findings_of(property, options, backend, smallest.scenario);
  return failure;
}

std::string situation_name(const Property& property, std::size_t index) {
  return property.situations == nullptr ? std::string(situations()[index].name)
                                        : property.situations()[index];
}

bool is_required(const Property& property, std::size_t index) {
  return property.situations != nullptr || is_required(situations()[index], property.focus);
}

void add_coverage(const Property& property, PropertyReport& report,
                  const std::vector<std::int64_t>& coverage) {
  for (std::size_t i = 0; i < coverage.size(); ++i)
    report.coverage[situation_name(property, i)] += coverage[i];
}

PropertyReport report_of(const Property& property, const RunOptions& options,
                         const std::vector<StretchReport>& stretches, const Stopwatch& stopwatch) {
  PropertyReport report;
  for (const StretchReport& stretch : stretches) {
    report.cases += stretch.cases;
    add_coverage(property, report, stretch.coverage);
  }
  report.interrupted = is_stopped(options);
  if (!stretches.empty() && stretches.back().failing) {
    const LentBackend backend = options.make_backend();
    report.failure = shrunk_failure(property, options, *backend, *stretches.back().failing);
    report.failure->number = report.cases;
  }
  report.seconds = stopwatch.seconds();
  return report;
}

}  // namespace

PropertyReport run_random(const Property& property, const RunOptions& options) {
  const Stopwatch stopwatch;
  const auto stretches = run_stretches(div_ceil(options.cases, kStretch), options,
                                       [&](std::int64_t number, const StretchContext& context) {
                                         if (property.kind == nullptr)
                                           return random_stretch(property, options, number, context);
                                         const std::int64_t first = number * kStretch;
                                         const std::int64_t last = std::min(first + kStretch, options.cases);
                                         return case_stretch(property, options, {first, last}, context);
                                       });
  PropertyReport report = report_of(property, options, stretches, stopwatch);
  if (report.cases < kEnoughForCoverage || !options.fault.empty()) return report;
  const std::size_t count =
      property.situations == nullptr ? situations().size() : property.situations().size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = situation_name(property, i);
    if (is_required(property, i) && report.coverage[name] == 0) report.missing.push_back(name);
  }
  return report;
}

PropertyReport run_exhaustive(const Property& property, std::int32_t size, const RunOptions& options) {
  const Stopwatch stopwatch;
  const std::vector<Scenario> cells = family_cells(size);
  const auto stretches =
      run_stretches(std::ssize(cells), options, [&](std::int64_t number, const StretchContext& context) {
        return exhaustive_stretch(property, options, cells[static_cast<std::size_t>(number)], context);
      });
  return report_of(property, options, stretches, stopwatch);
}

PropertyReport run_one(const Property& property, const Counterexample& given, const RunOptions& options) {
  const Stopwatch stopwatch;
  PropertyReport report;
  report.cases = 1;
  const LentBackend backend = options.make_backend();
  std::vector<Finding> findings;
  if (property.kind != nullptr) {
    findings = judge(property, *backend, given).findings;
  } else {
    std::vector<std::int64_t> coverage;
    count_situations(property, given.scenario, coverage);
    add_coverage(property, report, coverage);
    findings = findings_of(property, options, *backend, given.scenario);
  }
  std::int64_t elements = 0;
  for (const ScenarioParameter& p : given.scenario.parameters) elements += p.numel();
  if (!findings.empty()) {
    report.failure = elements <= kMostToShrink
                         ? shrunk_failure(property, options, *backend, given)
                         : Failure{.first = given, .shrunk = given, .findings = std::move(findings)};
    report.failure->number = 1;
  }
  report.interrupted = is_stopped(options);
  report.seconds = stopwatch.seconds();
  return report;
}

JudgedCase judge(const Property& property, Backend& backend, const Counterexample& c) {
  SC_ASSERT(property.kind != nullptr && property.kind == c.kind, "a property is asked about another kind");
  return judge(property, backend, *property.kind->read(c.json, "case"));
}

JudgedCase judge(const Property& property, Backend& backend, const Case& c) {
  JudgedCase judged = property.judge(backend, c);
  judged.findings = agreed(backend, std::move(judged.findings));
  return judged;
}

Scenario shrink(const Scenario& scenario, const std::function<bool(const Scenario&)>& fails,
                std::int64_t* tries) {
  const auto holds = [&](const Scenario& s) { return !fails(s); };
  const Smallest smallest = smallest_failing(scenario, holds, [] { return false; });
  if (tries != nullptr) *tries = smallest.tries;
  return smallest.scenario;
}

}  // namespace shardcheck
