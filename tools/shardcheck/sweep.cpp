// shardcheck sweep: a scenario at all settings of a few knobs, as a matrix: which knob flips the result.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "core/error.h"
#include "tools/shardcheck/backend_choice.h"
#include "tools/shardcheck/given_scenario.h"
#include "tools/shardcheck/interrupt.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/progress.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/sweep/outcome.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/verbs.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

struct Sweep {
  std::vector<Knob> knobs;
  std::vector<Setting> settings;
  std::vector<Outcome> outcomes;
};

Table::Cell cell_of(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::held: return {outcome.text(), Tone::good};
    case Outcome::Kind::broken: return {outcome.text(), Tone::bad};
    default: return {outcome.text(), Tone::faint};
  }
}

/// A row a setting.
std::string list_text(const Terminal& terminal, const Sweep& sweep) {
  std::vector<std::string> titles;
  for (const Knob& knob : sweep.knobs) titles.push_back(knob.name);
  titles.emplace_back("result");
  Table table(titles);
  for (std::size_t i = 0; i < sweep.settings.size(); ++i) {
    std::vector<Table::Cell> row;
    for (std::size_t k = 0; k < sweep.knobs.size(); ++k)
      row.emplace_back(shown(sweep.knobs[k].values[sweep.settings[i][k]]));
    row.push_back(cell_of(sweep.outcomes[i]));
    table.row(std::move(row));
  }
  return table.text(terminal);
}

/// The last knob goes to the right, the others down.
std::string matrix_text(const Terminal& terminal, const Sweep& sweep) {
  const Knob& last = sweep.knobs.back();
  std::vector<std::string> titles;
  for (std::size_t k = 0; k + 1 < sweep.knobs.size(); ++k) titles.push_back(sweep.knobs[k].name);
  for (const std::string& value : last.values) titles.push_back(shown(value));
  Table table(titles);
  for (std::size_t i = 0; i < sweep.settings.size(); i += last.values.size()) {
    std::vector<Table::Cell> row;
    for (std::size_t k = 0; k + 1 < sweep.knobs.size(); ++k)
      row.emplace_back(shown(sweep.knobs[k].values[sweep.settings[i][k]]));
    for (std::size_t value = 0; value < last.values.size(); ++value)
      row.push_back(cell_of(sweep.outcomes[i + value]));
    table.row(std::move(row));
  }
  return fmt::format("to the right: {}\n{}", last.name, table.text(terminal));
}

/// Whether a column for every value of the last knob fits.
bool fits(const Terminal& terminal, const Sweep& sweep) {
  constexpr std::size_t kGap = 2, kNarrowest = 8;
  std::size_t width = 0;
  for (std::size_t k = 0; k + 1 < sweep.knobs.size(); ++k) {
    std::size_t widest = sweep.knobs[k].name.size();
    for (const std::string& value : sweep.knobs[k].values) widest = std::max(widest, shown(value).size());
    width += widest + kGap;
  }
  for (const std::string& value : sweep.knobs.back().values)
    width += std::max(kNarrowest, shown(value).size()) + kGap;
  return width <= static_cast<std::size_t>(terminal.width);
}

std::string json_text(const Sweep& sweep) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < sweep.settings.size(); ++i) {
    nlohmann::ordered_json row, setting = nlohmann::ordered_json::object();
    for (std::size_t k = 0; k < sweep.knobs.size(); ++k)
      setting[sweep.knobs[k].name] =
          nlohmann::ordered_json::parse(sweep.knobs[k].values[sweep.settings[i][k]]);
    const Outcome& outcome = sweep.outcomes[i];
    row["setting"] = setting;
    row["result"] = outcome.kind == Outcome::Kind::broken    ? "broken"
                    : outcome.kind == Outcome::Kind::invalid ? "invalid"
                                                             : outcome.text();
    row["clauses"] = outcome.clauses;
    row["sentence"] = outcome.sentence;
    rows.push_back(row);
  }
  return nlohmann::ordered_json{{"settings", rows}}.dump(1) + "\n";
}

/// The first sentence of every kind of breach and of refusal, so that the cells can be read.
std::string legend_text(const Terminal& terminal, const Sweep& sweep) {
  std::vector<std::string> seen;
  std::string text;
  for (const Outcome& outcome : sweep.outcomes) {
    const std::string key = outcome.kind == Outcome::Kind::broken ? outcome.clauses[0] : outcome.text();
    if (outcome.kind == Outcome::Kind::held || std::ranges::find(seen, key) != seen.end()) continue;
    seen.push_back(key);
    text += labelled(terminal, key, outcome.sentence);
  }
  return text;
}

}  // namespace

ExitStatus sweep_verb(Session& session, const Arguments& arguments) {
  std::string name;
  OutputFile json;
  std::vector<std::string> words;
  BackendChoice choice;
  Options options({"sweep", "SCENARIO --vary FIELD=VALUES... [flags]",
                   "run a scenario at all settings of a few fields: which of them flips the result"});
  options.argument(name, {"SCENARIO", "", "a file, or an example of `shardcheck list scenarios`"});
  options.flag(words, {"vary", "FIELD=VALUES",
                       "a field of the scenario by its name in the JSON; values are LOW..HIGH, a list with "
                       "commas, or all; repeatable, the last one goes to the right where it fits"});
  add_flags(options, choice);
  options.flag(json.path, {"json", "FILE", "write every setting and its result there; - is standard output"});
  options.note(
      "A cell is the clause that breaks first, +N for N other clauses; held; no fault, where the scenario's "
      "fault of the zoo has nothing to break; -, where there is no such scenario. Exit status 1 when a "
      "setting "
      "breaks a clause.");
  if (!options.parse(arguments, session)) return ExitStatus::held;
  const Counterexample given = case_named(name);
  if (given.kind != nullptr)
    throw bad_input(name,
                    fmt::format("a {} has no fields to vary; a sweep takes a scenario", given.kind->name));
  if (words.empty()) throw bad_input("--vary", "nothing to vary; say --vary ranks=1..4, for one");

  Sweep sweep{.knobs = knobs_of(words)};
  sweep.settings = settings_of(sweep.knobs);
  require_writable(json, "--json");
  const auto backend = factory_of(choice, session.processes)();
  const Terminal terminal = terminal_of(text_stream(session, json));
  Progress progress(session.err);
  for (const Setting& setting : sweep.settings) {
    if (interrupt_flag()) return ExitStatus::interrupted;
    const auto done = static_cast<double>(sweep.outcomes.size());
    progress.show({"sweep", done / static_cast<double>(sweep.settings.size()),
                   counted(std::ssize(sweep.outcomes), "setting")});
    sweep.outcomes.push_back(outcome_of(given.scenario, sweep.knobs, setting, *backend));
  }
  progress.clear();
  if (json.is_wanted()) write(json, session, json_text(sweep));

  std::ostream& out = text_stream(session, json);
  out << labelled(terminal, "scenario", describe(given)) << "\n"
      << (fits(terminal, sweep) ? matrix_text(terminal, sweep) : list_text(terminal, sweep)) << "\n"
      << legend_text(terminal, sweep);
  for (const std::string& sentence : what_decides(sweep.knobs, sweep.settings, sweep.outcomes))
    out << sentence << "\n";
  const auto broken = std::ranges::count(sweep.outcomes, Outcome::Kind::broken, &Outcome::kind);
  out << fmt::format("{}: {} of {} break a clause on {}\n",
                     broken > 0 ? paint(terminal, Tone::bad, "BROKEN") : paint(terminal, Tone::good, "held"),
                     grouped(broken), counted(std::ssize(sweep.settings), "setting"), describe(choice));
  return broken > 0 ? ExitStatus::broken : ExitStatus::held;
}

}  // namespace shardcheck
