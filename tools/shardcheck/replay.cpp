// shardcheck replay: one case again, and what it breaks; or op by op on two machines.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "backends/cuda/cuda_backend.h"
#include "core/assert.h"
#include "core/error.h"
#include "properties/comparison.h"
#include "properties/diagnosis/diagnosis.h"
#include "properties/schedules.h"
#include "tools/shardcheck/backend_choice.h"
#include "tools/shardcheck/delayed_races.h"
#include "tools/shardcheck/given_scenario.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/replaying.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/selection.h"
#include "tools/shardcheck/verbs.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

/// Every op on both machines, one after the other, and what each wrote compared: the first that differs, with
/// its operands, and how much of the bounds was used where only a bound holds.
ExitStatus replay_under_shadow(Session& session, const Counterexample& given, const BackendChoice& choice,
                               const std::string& file) {
  const auto lent = factory_of(choice, session.processes)();
  auto* shadow = dynamic_cast<Shadow*>(&*lent);
  SC_ASSERT(shadow != nullptr, "a machine against another is a shadow");
  const Comparison seen = compare_op_by_op(given.scenario, Poison::quiet_nan, *shadow);
  const Terminal terminal = terminal_of(session.out);
  if (seen.first) {
    Finding finding = *seen.first;
    finding.history.clear();  // its operands say more, below
    session.out << finding_text(terminal, finding) << "\n"
                << to_text(*seen.difference) << "\n"
                << also_text(terminal, seen.others);
  }
  std::string compared = fmt::format("{} compared, {}", counted(seen.ops_compared, "op"),
                                     counted(seen.elements_compared, "element"));
  if (seen.ops_bounded > 0)
    compared += fmt::format("; {} within a bound, of which at most {:.2g} % was used",
                            counted(seen.ops_bounded, "op"), 100 * seen.budget_used);
  if (seen.ops_unjudged > 0)
    compared += fmt::format("; {} not judged: no profile and no bound covers the arithmetic",
                            counted(seen.ops_unjudged, "op"));
  session.out << labelled(terminal, "scenario", describe(given)) << labelled(terminal, "shadow", compared)
              << fmt::format(
                     "{}: {} on {}\n",
                     seen.first ? paint(terminal, Tone::bad, "BROKEN") : paint(terminal, Tone::good, "held"),
                     file, describe(choice));
  return seen.first ? ExitStatus::broken : ExitStatus::held;
}

/// "step 0, rank 0, a[0]: 42.5 (0x422a0000) is right, NaN (0x7fc0dead) was read: ...".
std::string value_sentence(const Finding& finding) {
  if (!finding.has_values) return finding.sentence;
  return fmt::format("step {}, rank {}, {}[{}]: {} is right, {} was read: {}", finding.step, finding.rank,
                     finding.parameter_name, finding.element, to_text(finding.expected),
                     to_text(finding.actual), finding.sentence);
}

/// The race with a wrong value comes first, else the first race.
const ScheduledRace& worst(const Schedules& schedules) {
  for (const ScheduledRace& each : schedules.tried) {
    if (!each.values.empty()) return each;
  }
  return schedules.tried.front();
}

/// Every race of the plan made to happen, and what the consumers then read.
ExitStatus replay_schedules(Session& session, const Counterexample& given, const BackendChoice& choice,
                            const std::string& file) {
  const auto backend = factory_of(choice, session.processes)();
  const Schedules seen = run_schedules(*backend, given.scenario);
  const Terminal terminal = terminal_of(session.out);
  const std::string on = fmt::format("{} on {}", file, describe(choice));
  if (seen.races == 0) {
    session.out << labelled(terminal, "scenario", describe(given))
                << fmt::format("{}: no two ops race, so all schedules give one result; {}\n",
                               paint(terminal, Tone::good, "held"), on);
    return ExitStatus::held;
  }
  const ScheduledRace& shown = worst(seen);
  session.out << finding_text(terminal, shown.finding) << "\n";
  std::string late = fmt::format("op {} comes after op {}", shown.race.first.value, shown.race.second.value);
  if (shown.put_off == 0)
    late = "none: another rank orders the two, and an op runs on all of its ranks at once";
  if (shown.put_off > 1)
    late = fmt::format("op {} and {} that must follow it come after op {}", shown.race.first.value,
                       counted(shown.put_off - 1, "op"), shown.race.second.value);
  session.out << labelled(terminal, "schedule", late);
  if (!shown.values.empty())
    session.out << labelled(terminal, "then", value_sentence(shown.values.front()));
  else if (shown.put_off > 0)
    session.out << labelled(terminal, "then",
                            "gradients, masters and weights are still what they should be, in this schedule");
  const auto harmful =
      std::ranges::count_if(seen.tried, [](const ScheduledRace& each) { return !each.values.empty(); });
  session.out << labelled(terminal, "scenario", describe(given))
              << fmt::format("{}: {}; {} tried, {} with a wrong value; {}\n",
                             paint(terminal, Tone::bad, "BROKEN"), counted(seen.races, "race"),
                             counted(std::ssize(seen.tried), "schedule"), grouped(harmful), on);
  return ExitStatus::broken;
}

std::string_view name_of(Variant variant) {
  constexpr std::string_view names[] = {"as planned", "slots reused at once", "ranks apart"};
  return names[static_cast<int>(variant)];
}

/// "op 25 before op 22, op 31 before op 27", or the plan's own order.
std::string order_text(const WrongClass& each) {
  if (each.reversed.empty()) return "the order of the plan";
  std::string text;
  for (const auto& [first, second] : each.reversed)
    text += fmt::format("{}op {} before op {}", text.empty() ? "" : ", ", second.value, first.value);
  return text;
}

std::string covered_text(const ExploredPlan& plan) {
  const Explored& seen = plan.explored;
  const std::string all = seen.are_all ? "all there are" : "those closest to the plan; there are more";
  return fmt::format(
      "{} covered, {}; {} that nothing orders; {} with a wrong value, {} with other bits",
      seen.classes == 1 ? "1 class of schedules" : counted(seen.classes, "classes of schedule"), all,
      counted(seen.pairs, "conflict"), grouped(plan.wrong), grouped(plan.different));
}

/// Every class of schedules of the plan, and those in which a consumer reads something wrong.
ExitStatus replay_explored(Session& session, const Counterexample& given, const BackendChoice& choice,
                           std::int64_t most, const std::string& file) {
  constexpr std::size_t kShown = 8;
  const auto backend = factory_of(choice, session.processes)();
  const Exploration seen = explore_schedules(*backend, given.scenario, most);
  const Terminal terminal = terminal_of(session.out);
  std::int64_t classes = 0, wrong = 0, conflicts = 0;
  for (const ExploredPlan& plan : seen.plans) {
    session.out << labelled(terminal, "schedules",
                            fmt::format("{}: {}", name_of(plan.variant), covered_text(plan)));
    classes += plan.explored.classes;
    wrong += plan.wrong;
    conflicts += plan.explored.pairs;
  }
  for (std::size_t i = 0; i < std::min(kShown, seen.wrong.size()); ++i) {
    const WrongClass& each = seen.wrong[i];
    session.out << labelled(
        terminal, "wrong",
        fmt::format("{}, {}: {}", name_of(each.variant), order_text(each), value_sentence(each.value)));
  }
  const bool holds = conflicts == 0 && wrong == 0;
  session.out << labelled(terminal, "scenario", describe(given))
              << fmt::format(
                     "{}: {} run, {} with a wrong value; {} on {}\n",
                     holds ? paint(terminal, Tone::good, "held") : paint(terminal, Tone::bad, "BROKEN"),
                     counted(classes, "schedule"), grouped(wrong), file, describe(choice));
  return holds ? ExitStatus::held : ExitStatus::broken;
}

}  // namespace

ExitStatus replay_verb(Session& session, const Arguments& arguments) {
  std::string file;
  std::vector<std::string> names;
  BackendChoice choice;
  Options options({"replay", "FAILURE.json [flags]", "run one scenario again and print what it breaks"});
  options.argument(file, {"FAILURE.json", "", "a scenario, as check keeps it under .shardcheck/failures"});
  options.flag(names, {"property", "ID", "only this property, or those of this clause; repeatable"});
  add_flags(options, choice);
  bool under_shadow = false;
  options.flag(under_shadow, {"shadow", "",
                              "no property: every op on --backend and on --against (cpu when none is given), "
                              "and the first op whose results differ"});
  bool by_schedule = false;
  options.flag(by_schedule, {"schedule", "",
                             "no property: every race of the plan is made to happen, and what consumers then "
                             "read; on cpu for certain, on cuda by a delay in front of its first op"});
  std::int64_t tries = 0;
  options.flag(tries, {0, 10'000},
               {"tries", "N", "with --schedule on cuda: runs of the plan for each race, 8 when not given"});
  std::int64_t explore = 0;
  options.flag(
      explore, {0, 10'000'000},
      {"explore", "N",
       "no property: up to N classes of schedules, those closest to the plan first, of the plan and of "
       "one whose slots are reused at once, and what consumers then read; on the cpu backend"});
  options.note(
      "Nothing is shrunk, kept or moved. Exit status 1 when the scenario breaks a clause, 0 when it "
      "holds. `shardcheck explain FAILURE.json` says why.");
  if (!options.parse(arguments, session)) return ExitStatus::held;

  const Counterexample given = case_in(file);
  if (by_schedule || explore > 0) {
    const std::string flag = explore > 0 ? "--explore" : "--schedule";
    if (given.kind != nullptr)
      throw bad_input(flag, fmt::format("{} is a {}, which is no list of ops", file, given.kind->name));
    if (by_schedule && explore > 0) throw bad_input(flag, "give either --schedule or --explore");
    const bool is_alone = choice.against.empty() && !under_shadow && !session.processes.are_several();
    if (by_schedule && choice.backend == "cuda" && is_alone)
      return replay_delayed(session, given, choice, tries > 0 ? tries : kUsualTries);
    if (tries > 0) throw bad_input("--tries", "only --schedule on cuda runs a plan more than once");
    if (choice.backend != "cpu" || !is_alone)
      throw bad_input(flag, "only the cpu backend, in one process, runs ops in another order");
    return by_schedule ? replay_schedules(session, given, choice, file)
                       : replay_explored(session, given, choice, explore, file);
  }
  if (under_shadow) {
    if (given.kind != nullptr)
      throw bad_input("--shadow", fmt::format("{} is a {}, which is no list of ops", file, given.kind->name));
    if (session.processes.are_several())
      throw bad_input("--shadow", "it looks at every rank's bytes; run one process");
    if (choice.against.empty()) choice.against = "cpu";
    return replay_under_shadow(session, given, choice, file);
  }
  meet(session, choice);
  const auto backend = factory_of(choice, session.processes)();
  const auto properties = properties_for(given, names);
  auto findings = findings_of(properties, given, *backend);
  if (!findings.empty() && given.kind == nullptr) complete(findings.front(), given.scenario, *backend);
  const Terminal terminal = terminal_of(session.out);
  session.out << findings_text(terminal, findings) << labelled(terminal, noun_of(given), describe(given));
  if (const GraphCounts graphs = graph_counts(*backend); graphs.has_any())
    session.out << labelled(terminal, "graphs", to_text(graphs));
  const std::string on = fmt::format("{} on {}", file, describe(choice));
  if (findings.empty()) {
    session.out << fmt::format("{}: {}; {}\n", paint(terminal, Tone::good, "held"),
                               counted(std::ssize(properties), "property"), on);
    return ExitStatus::held;
  }
  session.out << labelled_command(terminal, "why",
                                  "shardcheck explain " + shell_quoted(file) + flags_text(choice))
              << fmt::format("{}: {}; {}\n", paint(terminal, Tone::bad, "BROKEN"),
                             counted(std::ssize(findings), "finding"), on);
  return ExitStatus::broken;
}

}  // namespace shardcheck
