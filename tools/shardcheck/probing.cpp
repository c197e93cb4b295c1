#include "tools/shardcheck/probing.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "core/error.h"
#include "properties/diagnosis/contents.h"
#include "properties/linear_probe.h"
#include "tools/shardcheck/processes.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/terminal.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

using nlohmann::ordered_json;

/// Of the contributions, those with a wrong weight on any reader.
std::string counted_wrong(const ProbedParameter& probed) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < probed.wrong.size(); ++i)
    count += i == 0 || !(probed.wrong[i].key == probed.wrong[i - 1].key);
  return count == 1 ? "1 is" : fmt::format("{} are", grouped(count));
}

std::string line_of(const Terminal& terminal, const Scenario& s, const ProbedParameter& probed) {
  const ScenarioParameter& p = s.parameters[static_cast<std::size_t>(probed.parameter)];
  const std::string verdict =
      probed.wrong.empty() ? fmt::format("every one enters once, with weight {}", weight_text(probed.scale))
                           : fmt::format("{} read with a wrong weight, where {} is right",
                                         counted_wrong(probed), weight_text(probed.scale));
  return fmt::format("{}  {}: {}\n", p.name, counted(probed.contributions, "contribution"),
                     paint(terminal, probed.wrong.empty() ? Tone::good : Tone::bad, verdict));
}

ordered_json json_of(const SimulatedWeight& w) {
  return {{"step", w.key.step}, {"rank", w.key.rank}, {"microbatch", w.key.microbatch},
          {"use", w.key.use},   {"reader", w.reader}, {"read_after_step", w.step},
          {"weight", w.weight}, {"right", w.right},   {"is_one_number", w.is_one_number}};
}

std::string json_report(const Scenario& s, const LinearProbe& found) {
  ordered_json root = {{"schema", 1}, {"runs", found.runs}, {"held", found.findings.empty()}};
  root["parameters"] = ordered_json::array();
  for (const ProbedParameter& probed : found.parameters) {
    ordered_json one = {{"name", s.parameters[static_cast<std::size_t>(probed.parameter)].name},
                        {"contributions", probed.contributions},
                        {"right", probed.scale},
                        {"patterns", probed.patterns},
                        {"wrong", ordered_json::array()}};
    for (const SimulatedWeight& weight : probed.wrong) one["wrong"].push_back(json_of(weight));
    root["parameters"].push_back(one);
  }
  root["findings"] = ordered_json::array();
  for (const Finding& finding : found.findings)
    root["findings"].push_back(ordered_json::parse(to_json(finding)));
  return root.dump(2) + "\n";
}

}  // namespace

ExitStatus probe_verb(Session& session, const ProbedScenario& probed, const BackendChoice& choice,
                      const OutputFile& json) {
  const std::int64_t runs = probes_of(probed.scenario);
  if (runs > kMostProbes)
    throw bad_input(probed.given,
                    fmt::format("probing takes a run for each of {} contributions, and at most {} "
                                "are taken; use fewer ranks, microbatches, steps or parameters",
                                grouped(runs - 1), grouped(kMostProbes - 1)));
  LinearProbe found = probe(*factory_of(choice, session.processes)(), probed.scenario);
  const std::string command =
      fmt::format("shardcheck check --probe --scenario {}{}", shell_quoted(probed.given), flags_text(choice));
  for (Finding& finding : found.findings) finding.reproduce = command;
  std::ostream& out = text_stream(session, json);
  const Terminal terminal = terminal_of(out);
  for (const ProbedParameter& parameter : found.parameters) {
    out << line_of(terminal, probed.scenario, parameter);
    for (const std::string& pattern : parameter.patterns) out << labelled(terminal, "pattern", pattern);
  }
  for (const Finding& finding : found.findings) out << finding_text(terminal, finding);
  if (!found.findings.empty()) out << labelled_command(terminal, "reproduce", command);
  const std::string_view verdict = found.findings.empty() ? "held" : "BROKEN";
  out << fmt::format("\n{}: {} one-hot, {}\n",
                     paint(terminal, found.findings.empty() ? Tone::good : Tone::bad, verdict),
                     counted(found.runs, "run"), describe(choice));
  if (session.processes.is_first())
    write(json, session, json.is_wanted() ? json_report(probed.scenario, found) : "");
  return found.findings.empty() ? ExitStatus::held : ExitStatus::broken;
}

}  // namespace shardcheck
