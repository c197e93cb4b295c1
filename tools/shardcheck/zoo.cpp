// shardcheck zoo: every known bug switched on in random scenarios, until the properties that claim its clause
// see it, then the smallest scenario that still shows it; or on the one case that it comes with.
#include "sim/faults/zoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "core/assert.h"
#include "core/error.h"
#include "core/files.h"
#include "properties/diagnosis/diagnosis.h"
#include "properties/runner.h"
#include "tools/shardcheck/backend_choice.h"
#include "tools/shardcheck/interrupt.h"
#include "tools/shardcheck/nearest.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/progress.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/selection.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/verbs.h"
#include "tools/shardcheck/wording.h"
#include "tools/shardcheck/zoo_bugs.h"

namespace shardcheck {
namespace {

struct ZooOptions {
  BackendChoice backend;
  std::vector<std::string> faults;
  std::uint64_t seed = 1;
  std::int64_t cases = 2000;  ///< ten times what the median fault may need
  std::int64_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::string save;  ///< a folder, or empty
  OutputFile json;
};

struct Hunt {
  Bug bug;
  const Property* caught_by = nullptr;  ///< null: escaped
  std::int64_t cases = 0;
  Counterexample smallest;
  std::vector<Finding> findings;
};

bool parse(ZooOptions& zoo_options, const Arguments& arguments, Session& session) {
  Options options({"zoo", "[FAULT...] [flags]",
                   "switch on every known bug: which property catches it, on which smallest scenario"});
  options.arguments(
      zoo_options.faults,
      {"FAULT", "", "ids as in `shardcheck list faults layout-faults fp8-faults`; all when none is given"});
  add_flags(options, zoo_options.backend);
  options.seed(zoo_options.seed);
  options.flag(zoo_options.cases, {1, 1'000'000'000},
               {"cases", "N", "cases after which a fault has escaped a property"});
  options.flag(zoo_options.threads, {1, 1024},
               {"threads", "N", "cases that run side by side; 1 in several processes"});
  options.flag(zoo_options.save,
               {"save", "FOLDER", "write the smallest scenario of each fault there, for replay and explain"});
  options.flag(zoo_options.json.path, {"json", "FILE", "write the result as JSON; - is standard output"});
  options.note("Exit status 1 when a fault escaped.");
  if (!options.parse(arguments, session)) return false;
  if (session.processes.is_first()) require_writable(zoo_options.json, "--json");
  return true;
}

std::vector<Bug> selected_bugs(const std::vector<std::string>& names) {
  std::vector<Bug> all = all_bugs(), selected;
  if (names.empty()) return all;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &Bug::id);
    if (found == all.end()) {
      std::vector<std::string> known;
      for (const Bug& each : all) known.push_back(each.id);
      throw bad_input("shardcheck zoo", unknown_name({name, "fault", std::move(known),
                                                      "shardcheck list faults layout-faults fp8-faults"}));
    }
    if (std::ranges::find(selected, name, &Bug::id) == selected.end()) selected.push_back(*found);
  }
  return selected;
}

/// The fault on the case that it is written for.
Hunt hunt_own_case(const Bug& bug, const RunOptions& preset) {
  Hunt result{.bug = bug, .cases = 1};
  SC_ASSERT(bug.property != nullptr && bug.property->kind != nullptr, "nobody judges the law of a fault");
  const std::unique_ptr<Case> c = bug.own_case();
  result.smallest = {.kind = bug.property->kind, .json = c->json()};
  result.findings = judge(*bug.property, *preset.make_backend(), *c).findings;
  std::erase_if(result.findings, [&](const Finding& finding) { return finding.clause != bug.clause; });
  if (!result.findings.empty()) result.caught_by = bug.property;
  return result;
}

/// Random cases with the fault in them, through one property after the other that claims its clause.
Hunt hunt(const Bug& bug, const ZooOptions& options, const RunOptions& preset) {
  if (bug.own_case != nullptr) return hunt_own_case(bug, preset);
  const Fault& fault = *bug.of_plans;
  Hunt result{.bug = bug};
  RunOptions run = preset;
  run.fault = fault.id;
  run.clause = fault.clause;
  run.cases = options.cases;
  for (const Property* property : selected_properties({std::string(fault.clause)})) {
    if (property->kind != nullptr) continue;  // its cases are no training steps, and have no plan
    const PropertyReport report = run_random(*property, run);
    if (!report.failure) {
      result.cases += report.cases;
      continue;
    }
    result.caught_by = property;
    result.cases += report.failure->number;
    result.smallest = report.failure->shrunk;
    result.smallest.scenario.fault = fault.id;
    result.findings = report.failure->findings;
    break;
  }
  return result;
}

std::string size_text(const Hunt& hunt) {
  if (hunt.bug.own_case != nullptr) return hunt.bug.size;
  const Scenario& s = hunt.smallest.scenario;
  return fmt::format("{}, {}, {}, {}", ranks_text(s), counted(std::ssize(s.parameters), "parameter"),
                     counted(s.microbatches, "microbatch"), counted(s.steps, "step"));
}

std::string save(Hunt& hunt, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw Error(ErrorKind::machine_cannot,
                fmt::format("--save {}: cannot create the folder: {}", folder.string(), error.message()));
  std::string& name = hunt.smallest.scenario.name;
  if (name.empty()) name = fmt::format("smallest for {}", hunt.bug.id);
  std::string stem = hunt.bug.id;
  std::ranges::replace(stem, '/', '-');
  const auto file = folder / (stem + ".json");
  write_text_atomically(file, to_json(hunt.smallest));
  return file.string();
}

std::string json_of(const std::vector<Hunt>& hunts, const ZooOptions& options, double seconds) {
  using nlohmann::ordered_json;
  ordered_json json = {
      {"command", "zoo"},   {"backend", options.backend.backend},     {"seed", options.seed},
      {"seconds", seconds}, {"interrupted", interrupt_flag().load()}, {"faults", ordered_json::array()}};
  for (const Hunt& hunt : hunts) {
    ordered_json fault = {{"id", hunt.bug.id},
                          {"source", hunt.bug.source},
                          {"sentence", hunt.bug.sentence},
                          {"clause", hunt.bug.clause},
                          {"caught", hunt.caught_by != nullptr},
                          {"caught_by", nullptr},
                          {"cases", hunt.cases},
                          {"smallest", nullptr}};
    if (hunt.caught_by != nullptr) {
      fault["caught_by"] = hunt.caught_by->id;
      const Scenario& s = hunt.smallest.scenario;
      if (hunt.smallest.kind == nullptr)
        fault["smallest"] = {{"ranks", s.ranks},
                             {"parameters", s.parameters.size()},
                             {"microbatches", s.microbatches},
                             {"steps", s.steps}};
      fault["scenario"] = ordered_json::parse(to_json(hunt.smallest));
    }
    json["faults"].push_back(std::move(fault));
  }
  return json.dump(2) + "\n";
}

std::int64_t median_cases(const std::vector<Hunt>& hunts) {
  std::vector<std::int64_t> cases;
  for (const Hunt& hunt : hunts) cases.push_back(hunt.cases);
  const auto middle = cases.begin() + std::ssize(cases) / 2;
  std::ranges::nth_element(cases, middle);
  return cases.empty() ? 0 : *middle;
}

std::string table_of(const std::vector<Hunt>& hunts, const Terminal& terminal) {
  Table table({"fault", "clause", "caught by", ">cases", "smallest scenario", "source"});
  for (const Hunt& hunt : hunts) {
    const bool caught = hunt.caught_by != nullptr;
    table.row({hunt.bug.id, hunt.bug.clause,
               caught ? Table::Cell{std::string(hunt.caught_by->id), Tone::good}
                      : Table::Cell{"ESCAPED", Tone::bad},
               grouped(hunt.cases), caught ? size_text(hunt) : "", hunt.bug.source});
  }
  return table.text(terminal);
}

/// What a single fault does, in full.
std::string portrait(const Hunt& hunt, const Terminal& terminal) {
  std::string text = "\n" + labelled(terminal, "fault", hunt.bug.sentence);
  if (hunt.caught_by == nullptr) return text;
  return text + labelled(terminal, noun_of(hunt.smallest), describe(hunt.smallest)) +
         findings_text(terminal, hunt.findings);
}

}  // namespace

ExitStatus zoo_verb(Session& session, const Arguments& arguments) {
  ZooOptions options;
  if (!parse(options, arguments, session)) return ExitStatus::held;
  const auto faults = selected_bugs(options.faults);
  meet(session, options.backend);
  Processes& processes = session.processes;
  if (processes.are_several()) {
    options.threads = 1;
    options.seed = std::stoull(processes.of_first(std::to_string(options.seed)));
  }
  RunOptions run{.seed = options.seed, .threads = static_cast<std::int32_t>(options.threads)};
  run.make_backend = factory_of(options.backend, processes);
  run.stop = &interrupt_flag();
  if (processes.are_several()) run.anywhere = [&](bool here) { return processes.anywhere(here); };
  const auto is_interrupted = [&] { return processes.anywhere(interrupt_flag()); };
  const auto start = std::chrono::steady_clock::now();
  std::ostream& out = text_stream(session, options.json);
  const Terminal terminal = terminal_of(out);
  std::vector<Hunt> hunts;
  std::vector<std::string> files;
  {
    Progress progress(session.err);
    for (const Bug& bug : faults) {
      if (is_interrupted()) break;
      const auto share = static_cast<double>(hunts.size()) / static_cast<double>(faults.size());
      run.progress = [&](std::int64_t done) {
        progress.show(
            {bug.id, share,
             fmt::format("{}, fault {} of {}", counted(done, "case"), hunts.size() + 1, faults.size())});
      };
      run.progress(0);
      Hunt found = hunt(bug, options, run);
      // What an interrupt cut short has not escaped.
      if (found.caught_by == nullptr && is_interrupted()) break;
      if (!options.save.empty() && found.caught_by != nullptr && processes.is_first())
        files.push_back(save(found, options.save));
      hunts.push_back(std::move(found));
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto caught =
      std::ranges::count_if(hunts, [](const Hunt& hunt) { return hunt.caught_by != nullptr; });
  const bool has_escaped = caught < std::ssize(hunts);
  const bool was_interrupted = is_interrupted();
  out << table_of(hunts, terminal);
  if (faults.size() == 1 && !hunts.empty()) {
    Hunt& only = hunts.front();
    if (!only.findings.empty() && only.smallest.kind == nullptr)
      complete(only.findings.front(), only.smallest.scenario, *run.make_backend());
    out << portrait(only, terminal);
  }
  for (const std::string& file : files)
    out << fmt::format("saved {}: shardcheck explain {}{}\n", file, shell_quoted(file),
                       flags_text(options.backend));
  out << fmt::format(
      "\n{}: {} of {} caught, median {}, {}{}\n",
      paint(terminal, has_escaped ? Tone::bad : Tone::good, has_escaped ? "ESCAPED" : "caught"), caught,
      counted(std::ssize(faults), "fault"), counted(median_cases(hunts), "case"), seconds_text(seconds),
      was_interrupted ? ", interrupted" : "");
  if (options.json.is_wanted() && processes.is_first())
    write(options.json, session, json_of(hunts, options, seconds));
  if (has_escaped) return ExitStatus::broken;
  return was_interrupted ? ExitStatus::interrupted : ExitStatus::held;
}

}  // namespace shardcheck
