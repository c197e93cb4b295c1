// A stand-in for `python3` with torch and tools/probe: takes the same command lines and writes the traces
// that a right framework would leave. The adapter "ddp" has a planted bug: a weight that is used more than
// once gets no gradient on the last rank. What it was called with is appended to stub.log in the working
// folder.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>

#include "core/checkpoint/safetensors.h"
#include "core/files.h"
#include "tests/properties/audit/right_trace.h"

namespace shardcheck {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool has_planted_bug(const AuditCase& c) {
  const Scenario& s = c.scenario;
  const ScenarioData data(s);
  bool has = false;
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p)
    has |= data.uses_of(p) > 1 && s.parameters[static_cast<std::size_t>(p)].trainable;
  return has && c.adapter.name == "ddp";
}

AuditTrace trace_of(const AuditCase& c) {
  AuditTrace trace = audit_tests::right_trace(c, 1);
  if (!has_planted_bug(c)) return trace;
  const ScenarioData data(trace.audited.scenario);
  for (TracedTensor& tensor : trace.ranks.back().tensors) {
    if (tensor.what == Traced::gradient && data.uses_of(tensor.parameter) > 1)
      std::ranges::fill(tensor.values, 0.0F);
  }
  return trace;
}

json json_of(const CollectiveEvent& e) {
  return {{"kind", e.kind},          {"reduction", e.reduction}, {"dtype", e.dtype},
          {"phase", e.phase},        {"group", e.group},         {"sent", e.sent},
          {"received", e.received},  {"step", e.step},           {"microbatch", e.microbatch},
          {"completed", e.completed}};
}

void write_rank(const fs::path& folder, const RankTrace& rank) {
  json entries = json::array(), collectives = json::array();
  std::vector<checkpoint::NewTensor> names;
  for (const TracedTensor& tensor : rank.tensors) {
    const std::string what = tensor.what == Traced::gradient ? "grad" : "param";
    const auto name = what + "/" + std::to_string(tensor.step) + "/" + std::to_string(tensor.parameter);
    entries.push_back({{"what", what},
                       {"step", tensor.step},
                       {"parameter", tensor.parameter},
                       {"first", tensor.first},
                       {"tensor", nullptr}});
    if (!tensor.is_present) continue;
    entries.back()["tensor"] = name;
    names.push_back({name, DType::f32, {std::ssize(tensor.values)}});
  }
  const auto stem = (folder / ("rank-" + std::to_string(rank.rank))).string();
  checkpoint::SafetensorsWriter writer(stem + ".safetensors", names);
  for (const TracedTensor& tensor : rank.tensors) {
    if (tensor.is_present) writer.append(std::as_bytes(std::span(tensor.values)));
  }
  writer.finish();
  for (const CollectiveEvent& event : rank.collectives) collectives.push_back(json_of(event));
  std::ofstream(stem + ".json") << json{{"schema", 1},
                                        {"rank", rank.rank},
                                        {"outcome", "finished"},
                                        {"error", ""},
                                        {"waiting", json::array()},
                                        {"tensors", entries},
                                        {"collectives", collectives}};
}

int probe(const fs::path& cases, const fs::path& out) {
  int number = 0;
  for (const json& each : json::parse(read_text(cases, 1 << 24))) {
    const AuditCase c = audit_case_from_json(each.dump(), cases.string());
    const fs::path folder =
        out / (std::string(4 - std::to_string(number).size(), '0') + std::to_string(number));
    fs::create_directories(folder);
    for (const RankTrace& rank : trace_of(c).ranks) write_rank(folder, rank);
    std::ofstream(folder / "manifest.json") << json{{"schema", 1},
                                                    {"kind", "shardcheck-trace"},
                                                    {"ranks", c.scenario.ranks},
                                                    {"device", "cpu"},
                                                    {"rate", 0.25},
                                                    {"versions", {{"stub", "1"}}},
                                                    {"case", each}};
    ++number;
  }
  return 0;
}

int standalone(const fs::path& file, const fs::path& script) {
  const AuditCase c = audit_case_from_json(read_text(file, 1 << 24), file.string());
  std::ofstream(script) << (has_planted_bug(c) ? "wrong" : "right");
  return 0;
}

int launch(const fs::path& script) {
  const bool wrong = read_text(script, 1 << 24) == "wrong";
  std::cout << "rank 1, step 0, p0, elements from 0 on: ...\nrank 1: "
            << (wrong ? "WRONG" : "all gradients are right") << std::endl;
  return wrong ? 1 : 0;
}

int run(std::span<char*> words) {
  std::ofstream log("stub.log", std::ios::app);
  std::vector<std::string> given(words.begin() + 1, words.end());
  for (const std::string& word : given) log << word << " ";
  log << "\n";
  const auto after = [&](const char* flag) {
    const auto found = std::ranges::find(given, flag);
    return found == given.end() ? std::string() : *(found + 1);
  };
  const std::string module = after("-m");
  if (module == "shardcheck_probe") return probe(after("--cases"), after("--out"));
  if (module == "shardcheck_probe.standalone") return standalone(after("--case"), after("--out"));
  return launch(given.back());
}

}  // namespace
}  // namespace shardcheck

int main(int count, char** words) {
  return shardcheck::run({words, static_cast<std::size_t>(count)});
}
