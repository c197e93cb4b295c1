// shardcheck audit: judges traces that tools/probe recorded from a real framework, or records them itself.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "core/error.h"
#include "tools/shardcheck/audit/audit_report.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/verbs.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

namespace fs = std::filesystem;

/// The folder itself when it is a trace, else the traces in it, by name.
std::vector<fs::path> traces_in(const fs::path& folder) {
  if (!fs::is_directory(folder) || fs::exists(folder / "manifest.json")) return {folder};
  std::vector<fs::path> traces;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (fs::exists(entry.path() / "manifest.json")) traces.push_back(entry.path());
  }
  std::ranges::sort(traces);
  return traces.empty() ? std::vector{folder} : traces;
}

ExitStatus judge_folder(Session& session, const fs::path& folder, const OutputFile& json) {
  std::vector<Audited> all;
  for (const fs::path& path : traces_in(folder)) {
    AuditTrace trace = read_trace(path);
    AuditVerdict verdict = judge(trace);
    all.push_back({path.string(), std::move(trace), std::move(verdict)});
  }
  std::ostream& out = text_stream(session, json);
  const Terminal terminal = terminal_of(out);
  if (all.size() == 1) {
    out << audit_text(terminal, all.front());
  } else {
    out << audits_table(terminal, all);
  }
  write(json, session, audits_json(all));
  const auto is = [&](ExitStatus status) {
    return std::ranges::any_of(all, [&](const Audited& each) { return exit_of(each.verdict) == status; });
  };
  return is(ExitStatus::broken)    ? ExitStatus::broken
         : is(ExitStatus::gave_up) ? ExitStatus::gave_up
                                   : ExitStatus::held;
}

}  // namespace

ExitStatus audit_verb(Session& session, const Arguments& arguments) {
  std::string folder;
  OutputFile json;
  Options options({"audit", "TRACE [flags]", "judge what a real framework did, as tools/probe recorded it"});
  options.argument(folder, {"TRACE", "", "a folder that tools/probe wrote: a trace, or several of them"});
  options.flag(json.path, {"json", "FILE", "write the verdicts as JSON; - is standard output"});
  options.note(
      "Exit status 1 when a clause is broken, 4 when the framework refused the scenario with an exception "
      "and "
      "there is nothing to judge. Record a trace: PYTHONPATH=tools/probe python3 -m shardcheck_probe --cases "
      "CASE.json --out DIR.");
  if (!options.parse(arguments, session)) return ExitStatus::held;
  require_writable(json, "--json");
  return judge_folder(session, folder, json);
}

}  // namespace shardcheck
