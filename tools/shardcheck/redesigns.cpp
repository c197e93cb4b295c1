// shardcheck redesigns: today's code and every proposed write protocol, in every cell of {destination x class
// met x microbatch x uses x execution}. The table is computed by running each cell (properties/redesigns.h).
#include "properties/redesigns.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/scenario/json.h"
#include "tools/shardcheck/backend_choice.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/verbs.h"

namespace shardcheck {
namespace {

constexpr std::string_view kModes[] = {"eager", "delayed", "graph"};
constexpr std::string_view kMicrobatches[] = {"first", "later"};
constexpr std::string_view kDestinations[] = {"persistent", "temporary"};
constexpr std::string_view kClasses[] = {"Z", "UD", "A"};
constexpr int kMostUses = 2;

constexpr std::string_view kLegend =
    "\nok: sound. W4: wrong, the first clause that breaks. -: the design cannot meet the cell.\n"
    "Rows: the destination and what its bytes hold when the first use of the microbatch writes: Z zero, UD\n"
    "undefined, A contributions that must survive. Columns: execution, microbatch, fused uses of the "
    "weight.\n";

struct Tally {
  std::int64_t sound = 0, applicable = 0;
};

Tally tally(const RedesignReport& report, std::string_view mode) {
  Tally counts;
  for (const RedesignCell& cell : report.cells) {
    if (cell.mode != mode || !cell.applicable) continue;
    ++counts.applicable;
    counts.sound += cell.sound ? 1 : 0;
  }
  return counts;
}

/// Without blanks at the end.
std::string trimmed(std::string line) {
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string cell_text(const Terminal& terminal, const RedesignCell* cell) {
  constexpr std::string_view kWidth = "{:<4}";
  if (cell == nullptr || !cell->applicable) return paint(terminal, Tone::faint, fmt::format(kWidth, "-"));
  if (cell->sound) return paint(terminal, Tone::good, fmt::format(kWidth, "ok"));
  return paint(terminal, Tone::bad, fmt::format(kWidth, cell->clause));
}

const RedesignCell* find(const RedesignReport& report, std::string_view destination, std::string_view touched,
                         std::string_view mode, std::string_view microbatch, int uses) {
  const auto found = std::ranges::find_if(report.cells, [&](const RedesignCell& cell) {
    return cell.destination == destination && cell.touched == touched && cell.mode == mode &&
           cell.microbatch == microbatch && cell.uses == uses;
  });
  return found == report.cells.end() ? nullptr : &*found;
}

/// The three lines above a matrix.
std::string heads() {
  std::string modes(17, ' '), microbatches(17, ' '), uses = fmt::format("  {:<15}", "uses");
  for (const auto mode : kModes) {
    modes += fmt::format("{:<26}", mode);
    for (const auto microbatch : kMicrobatches) {
      microbatches += fmt::format("{:<13}", microbatch);
      for (int use = 0; use <= kMostUses; ++use) uses += fmt::format("{:<4}", use);
      uses += ' ';
    }
  }
  return trimmed(modes) + "\n" + trimmed(microbatches) + "\n" + trimmed(uses) + "\n";
}

std::string matrix(const Terminal& terminal, const RedesignReport& report) {
  std::string text = paint(terminal, Tone::faint, heads());
  for (const auto destination : kDestinations) {
    for (const auto touched : kClasses) {
      std::string line = fmt::format("  {:<11}{:<4}", destination, touched);
      for (const auto mode : kModes) {
        for (const auto microbatch : kMicrobatches) {
          for (int uses = 0; uses <= kMostUses; ++uses)
            line += cell_text(terminal, find(report, destination, touched, mode, microbatch, uses));
          line += ' ';
        }
      }
      text += trimmed(line) + "\n";
    }
  }
  return text;
}

std::string overview(const Terminal& terminal, const std::vector<RedesignReport>& reports) {
  Table table({"design", "eager", "delayed", "graph", "how it chooses beta"});
  for (const RedesignReport& report : reports) {
    std::vector<Table::Cell> row = {report.id};
    for (const auto mode : kModes) {
      const Tally counts = tally(report, mode);
      const bool sound = counts.sound == counts.applicable;
      row.emplace_back(
          sound ? "sound"
                : fmt::format("{} of {} wrong", counts.applicable - counts.sound, counts.applicable),
          sound ? Tone::good : Tone::bad);
    }
    row.emplace_back(report.description);
    table.row(std::move(row));
  }
  return table.text(terminal);
}

std::string json_of(const std::vector<RedesignReport>& reports, const BackendChoice& choice) {
  using nlohmann::ordered_json;
  ordered_json json = {
      {"command", "redesigns"}, {"backend", choice.backend}, {"designs", ordered_json::array()}};
  for (const RedesignReport& report : reports) {
    ordered_json cells = ordered_json::array();
    for (const RedesignCell& cell : report.cells) {
      cells.push_back({{"destination", cell.destination},
                       {"touched", cell.touched},
                       {"uses", cell.uses},
                       {"microbatch", cell.microbatch},
                       {"mode", cell.mode},
                       {"applicable", cell.applicable},
                       {"sound", cell.sound},
                       {"clause", cell.clause},
                       {"sentence", cell.sentence}});
      if (cell.applicable) cells.back()["scenario"] = ordered_json::parse(to_json(cell.scenario));
    }
    json["designs"].push_back(
        {{"id", report.id}, {"description", report.description}, {"cells", std::move(cells)}});
  }
  return json.dump(2) + "\n";
}

}  // namespace

ExitStatus redesigns_verb(Session& session, const Arguments& arguments) {
  BackendChoice choice;
  OutputFile json;
  Options options(
      {"redesigns", "[flags]", "in which cells every proposed write protocol is sound, by running them"});
  add_flags(options, choice);
  options.flag(json.path,
               {"json", "FILE", "write the cells as JSON, with their scenarios; - is standard output"});
  options.note(
      "Nothing in the table is stored: every cell is a small training job that is planned, judged and "
      "run. Exit status 0: that a design is wrong somewhere is an answer, not a failure.");
  if (!options.parse(arguments, session)) return ExitStatus::held;
  require_writable(json, "--json");
  const auto reports = redesigns(*factory_of(choice, session.processes)());
  std::ostream& out = text_stream(session, json);
  const Terminal terminal = terminal_of(out);
  out << overview(terminal, reports);
  for (const RedesignReport& report : reports)
    out << "\n"
        << paint(terminal, Tone::strong, report.id) << "\n  "
        << wrap(report.description, {.width = terminal.width, .indent = 2}) << "\n"
        << matrix(terminal, report);
  out << kLegend;
  if (json.is_wanted()) write(json, session, json_of(reports, choice));
  return ExitStatus::held;
}

}  // namespace shardcheck
