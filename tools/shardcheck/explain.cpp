// shardcheck explain: everything that can be said about why a scenario fails (properties/diagnosis).
#include <fmt/format.h>

#include <ostream>

#include "properties/diagnosis/diagnosis.h"
#include "sim/cost/timeline.h"
#include "sim/faults/zoo.h"
#include "sim/planner/planner.h"
#include "tools/shardcheck/backend_choice.h"
#include "tools/shardcheck/explain/page.h"
#include "tools/shardcheck/explain/repro.h"
#include "tools/shardcheck/given_scenario.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/replaying.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/selection.h"
#include "tools/shardcheck/trace_events.h"
#include "tools/shardcheck/verbs.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

std::string listed(const Terminal& terminal, std::string_view label, const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) text += labelled(terminal, i == 0 ? label : "", lines[i]);
  return text;
}

std::string first_wrong_text(const Terminal& terminal, const Diagnosis& diagnosis) {
  std::string text;
  if (diagnosis.last_right)
    text += labelled(terminal, "last right", fmt::format("op {}", diagnosis.last_right->value));
  if (diagnosis.first_wrong) {
    const std::string because =
        diagnosis.first_wrong_because.empty() ? "" : fmt::format(": {}", diagnosis.first_wrong_because);
    text += labelled(terminal, "first wrong", fmt::format("op {}{}", diagnosis.first_wrong->value, because));
  }
  return text;
}

/// The flips of the scenario, those that mend it first: they name what the finding depends on.
std::string counterfactuals_text(const Terminal& terminal, const std::vector<Counterfactual>& all) {
  std::vector<std::string> mending, others;
  for (const Counterfactual& each : all) {
    if (each.mends) {
      mending.push_back(each.change);
    } else {
      others.push_back(each.instead.empty()
                           ? each.change
                           : fmt::format("{} (breaks {} instead)", each.change, each.instead));
    }
  }
  return listed(terminal, "mended by", mending) + listed(terminal, "not mended by", others);
}

std::string diagnosis_text(const Terminal& terminal, const Diagnosis& diagnosis, const Scenario& scenario) {
  return finding_text(terminal, diagnosis.finding) + first_wrong_text(terminal, diagnosis) +
         counterfactuals_text(terminal, diagnosis.counterfactuals) +
         listed(terminal, "signature", diagnosis.signatures) +
         listed(terminal, "looks like", diagnosis.lookalikes) + listed(terminal, "note", diagnosis.notes) +
         labelled(terminal, "scenario", describe(scenario));
}

/// Where else the explanation goes.
struct Drawings {
  OutputFile page, timeline, test;

  bool are_wanted() const { return page.is_wanted() || timeline.is_wanted() || test.is_wanted(); }
};

void draw(Session& session, const Drawings& drawings, const Scenario& scenario, const Diagnosis& diagnosis,
          const std::string& reproduce) {
  if (!drawings.are_wanted()) return;
  Planned planned = plan_of(scenario);
  apply_fault(planned, scenario);
  const Plan& plan = planned.plan;
  if (drawings.page.is_wanted())
    write(drawings.page, session, explain_page({scenario, diagnosis, plan, reproduce}));
  if (drawings.test.is_wanted()) write(drawings.test, session, repro_test(scenario, diagnosis.finding));
  if (drawings.timeline.is_wanted()) {
    write(drawings.timeline, session,
          trace_events(plan, cost::timeline_of(plan, cost::Gpu{}), races_of(plan)));
  }
}

}  // namespace

ExitStatus explain_verb(Session& session, const Arguments& arguments) {
  std::string file;
  std::vector<std::string> names;
  BackendChoice choice;
  Options options({"explain", "FAILURE.json [flags]",
                   "why a scenario fails: first wrong op, history of the bytes, what would mend it"});
  options.argument(file, {"FAILURE.json", "", "a scenario, as check keeps it under .shardcheck/failures"});
  options.flag(names, {"property", "ID", "only this property, or those of this clause; repeatable"});
  add_flags(options, choice);
  Drawings drawings;
  options.flag(drawings.page.path, {"html", "FILE",
                                    "one page with the step's timeline, the guilty op and the history of the "
                                    "bytes"});
  options.flag(drawings.timeline.path,
               {"timeline", "FILE", "trace events of the plan, which Perfetto opens"});
  options.flag(drawings.test.path, {"repro", "FILE.cpp", "a GoogleTest that shows the same mismatch"});
  options.note(
      "The first finding is explained, the others are named. Exit status 1 when there is one, 0 when the "
      "scenario holds.");
  if (!options.parse(arguments, session)) return ExitStatus::held;

  const Counterexample given = case_in(file);
  if (given.kind != nullptr && drawings.are_wanted())
    throw bad_input("--html, --timeline, --repro",
                    fmt::format("{} is a {}, which is no training step", file, given.kind->name));
  require_writable(drawings.page, "--html");
  require_writable(drawings.timeline, "--timeline");
  require_writable(drawings.test, "--repro");
  meet(session, choice);
  const auto backend = factory_of(choice, session.processes)();
  const auto properties = properties_for(given, names);
  const auto findings = findings_of(properties, given, *backend);
  const Terminal terminal = terminal_of(session.out);
  if (findings.empty()) {
    session.out << fmt::format("{}: nothing to explain; {} on {}\n", paint(terminal, Tone::good, "held"),
                               counted(std::ssize(properties), "property"), describe(choice));
    return ExitStatus::held;
  }
  if (given.kind == nullptr) {
    const Scenario& scenario = given.scenario;
    const Diagnosis diagnosis = diagnose(scenario, findings.front(), *backend);
    session.out << diagnosis_text(terminal, diagnosis, scenario);
    if (session.processes.is_first())
      draw(session, drawings, scenario, diagnosis, reproduce_text(file, choice));
  } else {
    session.out << finding_text(terminal, findings.front())
                << labelled(terminal, noun_of(given), describe(given));
  }
  session.out << also_text(terminal, std::span(findings).subspan(1))
              << labelled_command(terminal, "reproduce", reproduce_text(file, choice));
  return ExitStatus::broken;
}

}  // namespace shardcheck
