// shardcheck replay: one scenario again, and what it breaks.
#include <fmt/format.h>

#include <ostream>

#include "properties/diagnosis/diagnosis.h"
#include "tools/shardcheck/backend_choice.h"
#include "tools/shardcheck/given_scenario.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/replaying.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/selection.h"
#include "tools/shardcheck/verbs.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {

ExitStatus replay_verb(Session& session, const Arguments& arguments) {
  std::string file;
  std::vector<std::string> names;
  BackendChoice choice;
  Options options({"replay", "FAILURE.json [flags]", "run one scenario again and print what it breaks"});
  options.argument(file, {"FAILURE.json", "", "a scenario, as check keeps it under .shardcheck/failures"});
  options.flag(names, {"property", "ID", "only this property, or those of this clause; repeatable"});
  add_flags(options, choice);
  options.note(
      "Nothing is shrunk, kept or moved. Exit status 1 when the scenario breaks a clause, 0 when it "
      "holds. `shardcheck explain FAILURE.json` says why.");
  if (!options.parse(arguments, session)) return ExitStatus::held;

  const Counterexample given = case_in(file);
  meet(session, choice);
  const auto backend = factory_of(choice, session.processes)();
  const auto properties = properties_for(given, names);
  auto findings = findings_of(properties, given, *backend);
  if (!findings.empty() && given.kind == nullptr) complete(findings.front(), given.scenario, *backend);
  const Terminal terminal = terminal_of(session.out);
  session.out << findings_text(terminal, findings) << labelled(terminal, noun_of(given), describe(given));
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
