#include "tools/shardcheck/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "core/contract/clauses.h"
#include "sim/scenario/json.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

constexpr int kLabelWidth = 16;  ///< of the labels of a report, with two blanks before and one behind

std::string title_of(const std::string& clause) {
  const Clause* known = find_clause(clause);
  return known == nullptr ? clause : fmt::format("{} {}", clause, known->title);
}

/// "op 17, rank 1, stream compute, step 0, microbatch 1, parameter w0, element 3", without what does not
/// apply.
std::string place_of(const Finding& finding) {
  std::vector<std::string> parts;
  const auto part = [&](std::string_view what, std::int64_t value) {
    if (value >= 0) parts.push_back(fmt::format("{} {}", what, value));
  };
  part("op", finding.op.value);
  part("rank", finding.rank);
  if (!finding.stream.empty()) parts.push_back("stream " + finding.stream);
  part("step", finding.step);
  part("microbatch", finding.microbatch);
  if (!finding.parameter_name.empty()) parts.push_back("parameter " + finding.parameter_name);
  part("element", finding.element);
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Lines under one label.
std::string labelled_lines(const Terminal& terminal, std::string_view label,
                           const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) text += labelled(terminal, i == 0 ? label : "", lines[i]);
  return text;
}

std::vector<std::string> numbered(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  for (const std::string& line : lines) result.push_back(fmt::format("{}. {}", result.size() + 1, line));
  return result;
}

Tone tone_of(Verdict verdict) {
  constexpr Tone tones[] = {Tone::good, Tone::bad, Tone::warning};
  return tones[static_cast<int>(verdict)];
}

std::string shrunk_text(const Failure& failure) {
  const auto size = [](const Counterexample& c) {
    if (c.kind != nullptr) return describe(c);
    const Scenario& s = c.scenario;
    return fmt::format("{}, {}, {}, {}", ranks_text(s), counted(std::ssize(s.parameters), "parameter"),
                       counted(s.microbatches, "microbatch"), counted(s.steps, "step"));
  };
  return fmt::format("case {}, {}; shrunk to {} after {}", grouped(failure.number), size(failure.first),
                     size(failure.shrunk), counted(failure.tries, "try"));
}

/// The sentence behind the verdict word.
std::string summary_of(const CheckResult& result) {
  const auto with = [&](Verdict verdict) {
    return std::ranges::count_if(result.properties,
                                 [&](const PropertyResult& each) { return verdict_of(each) == verdict; });
  };
  const auto kept =
      std::ranges::count_if(result.kept, [](const auto& each) { return !each.findings.empty(); });
  const std::int64_t total = std::ssize(result.properties) + std::ssize(result.skipped);
  std::vector<std::string> parts;
  if (with(Verdict::broken) > 0)
    parts.push_back(fmt::format("{} of {}", with(Verdict::broken), counted(total, "property")));
  if (kept > 0) parts.push_back(fmt::format("{} still failing", counted(kept, "kept failure")));
  if (verdict_of(result) == Verdict::gave_up && !result.is_interrupted)
    parts.push_back(fmt::format("{} of {} did not reach the required coverage; more --cases may",
                                with(Verdict::gave_up), counted(total, "property")));
  if (result.is_interrupted)
    parts.push_back(fmt::format(
        "interrupted, {} of {} finished",
        std::ssize(result.properties) -
            std::ranges::count_if(result.properties, [](const auto& p) { return p.report.interrupted; }),
        counted(total, "property")));
  if (parts.empty()) parts.push_back(counted(total, "property"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string_view noun_of(const Counterexample& c) {
  return c.kind == nullptr ? "scenario" : c.kind->name;
}

std::string headline(const Finding& finding) {
  return fmt::format("{}: {}", title_of(finding.clause), finding.sentence);
}

std::string labelled(const Terminal& terminal, std::string_view label, std::string_view text) {
  // A label that is too long for its column has a line of its own.
  const bool fits = label.size() + 2 < static_cast<std::size_t>(kLabelWidth);
  std::string name = fmt::format("  {:<{}}", label, kLabelWidth - 2);
  if (!fits) name += "\n" + std::string(static_cast<std::size_t>(kLabelWidth), ' ');
  return paint(terminal, Tone::faint, name) + wrap(text, {.width = terminal.width, .indent = kLabelWidth}) +
         "\n";
}

std::string labelled_command(const Terminal& terminal, std::string_view label, std::string_view command) {
  Terminal endless = terminal;
  endless.width = std::numeric_limits<int>::max();
  return labelled(endless, label, paint(terminal, Tone::strong, command));
}

std::string finding_text(const Terminal& terminal, const Finding& finding) {
  const Clause* clause = find_clause(finding.clause);
  std::string text = "  " + paint(terminal, Tone::bad, title_of(finding.clause)) + "\n";
  if (clause != nullptr)
    text += labelled(terminal, "clause", fmt::format("{} ({})", clause->sentence, clause->source));
  text += labelled(terminal, "what", paint(terminal, Tone::strong, finding.sentence));
  if (const std::string place = place_of(finding); !place.empty()) text += labelled(terminal, "where", place);
  if (!finding.op_text.empty()) text += labelled(terminal, "op", finding.op_text);
  if (finding.has_values) {
    text += labelled(terminal, "expected", to_text(finding.expected));
    text += labelled(terminal, "actual", to_text(finding.actual));
  }
  text += labelled_lines(terminal, "provenance", finding.provenance);
  return text + labelled_lines(terminal, "history", numbered(finding.history));
}

std::string also_text(const Terminal& terminal, std::span<const Finding> others) {
  std::vector<std::string> kinds, lines, places;
  std::vector<std::int64_t> times;
  for (const Finding& finding : others) {
    const auto known = std::find(kinds.begin(), kinds.end(), headline(finding));
    if (known != kinds.end()) {
      ++times[static_cast<std::size_t>(known - kinds.begin())];
      continue;
    }
    kinds.push_back(headline(finding));
    lines.push_back(headline(finding));
    places.push_back(place_of(finding));
    times.push_back(0);
  }
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (times[i] > 0) places[i] += fmt::format("; and in {} more", counted(times[i], "place"));
    const std::string where = places[i].empty() ? "" : fmt::format(" ({})", places[i]);
    text += labelled(terminal, i == 0 ? "also" : "", lines[i] + where);
  }
  return text;
}

std::string findings_text(const Terminal& terminal, std::span<const Finding> findings) {
  if (findings.empty()) return "";
  return finding_text(terminal, findings.front()) + also_text(terminal, findings.subspan(1));
}

std::string failure_text(const Terminal& terminal, const PropertyResult& result) {
  const Failure& failure = *result.report.failure;
  std::string text = findings_text(terminal, failure.findings);
  text += labelled(terminal, noun_of(failure.shrunk), describe(failure.shrunk));
  if (failure.tries > 0) text += labelled(terminal, "found", shrunk_text(failure));
  text += labelled_command(terminal, "reproduce", result.reproduce);
  if (result.file.empty()) text += "\n" + to_json(failure.shrunk);
  return text;
}

LineWidths widths_of(std::span<const Property* const> properties) {
  LineWidths widths;
  for (const Property* property : properties) {
    widths.id = std::max(widths.id, property->id.size());
    widths.clauses = std::max(widths.clauses, clauses_text(property->clauses).size());
  }
  return widths;
}

std::string property_line(const Terminal& terminal, const PropertyResult& result, const LineWidths& widths) {
  const PropertyReport& report = result.report;
  const Verdict verdict = verdict_of(result);
  const auto reached =
      std::ranges::count_if(report.coverage, [](const auto& each) { return each.second > 0; });
  const std::string coverage = fmt::format("{}/{}", reached, reached + std::ssize(report.missing));
  constexpr std::string_view words[] = {"held", "BROKEN", "gave up"};
  const std::string_view word =
      report.interrupted && !report.failure ? "interrupted" : words[static_cast<int>(verdict)];
  std::string text =
      fmt::format("{:<{}}  {:<{}} {:>9} {:<5} {:>9}  {:>5} situations  {}\n", result.property->id, widths.id,
                  clauses_text(result.property->clauses), widths.clauses, grouped(report.cases),
                  report.cases == 1 ? "case" : "cases", seconds_text(report.seconds), coverage,
                  paint(terminal, tone_of(verdict), word));
  if (verdict == Verdict::gave_up && !report.missing.empty())
    text += labelled(terminal, "not reached", fmt::format("{}", fmt::join(report.missing, "; ")));
  return text;
}

std::string verdict_line(const Terminal& terminal, const CheckResult& result) {
  const Verdict verdict = verdict_of(result);
  constexpr std::string_view words[] = {"held", "BROKEN", "gave up"};
  const std::int64_t cases = cases_of(result);
  const std::string rate =
      result.seconds > 0 && cases > 1
          ? fmt::format(" ({} a second)",
                        grouped(static_cast<std::int64_t>(static_cast<double>(cases) / result.seconds)))
          : "";
  const std::string seed = result.is_search ? fmt::format(", seed {}", result.seed) : "";
  return fmt::format("{}: {}; {} in {}{}{}, {}\n",
                     paint(terminal, tone_of(verdict), words[static_cast<int>(verdict)]), summary_of(result),
                     counted(cases, "case"), seconds_text(result.seconds), rate, seed,
                     describe(result.backend));
}

}  // namespace shardcheck
