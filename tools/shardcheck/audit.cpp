// shardcheck audit: judges traces that tools/probe recorded from a real framework, or records them itself.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <ostream>
#include <sstream>

#include "core/error.h"
#include "tools/shardcheck/audit/audit_report.h"
#include "tools/shardcheck/audit/page.h"
#include "tools/shardcheck/audit/search.h"
#include "tools/shardcheck/interrupt.h"
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

struct Outputs {
  OutputFile json, page;
};

ExitStatus judge_folder(Session& session, const fs::path& folder, const Outputs& outputs) {
  std::vector<Audited> all;
  for (const fs::path& path : traces_in(folder)) {
    AuditTrace trace = read_trace(path);
    AuditVerdict verdict = judge(trace);
    all.push_back({path.string(), std::move(trace), std::move(verdict)});
  }
  if (outputs.page.is_wanted() && all.size() > 1)
    throw bad_input("--html", fmt::format("a page tells one trace, and {} holds {}: name one of them",
                                          folder.string(), all.size()));
  std::ostream& out = text_stream(session, outputs.page.is_standard_output() ? outputs.page : outputs.json);
  const Terminal terminal = terminal_of(out);
  if (all.size() == 1) {
    out << audit_text(terminal, all.front());
  } else {
    out << audits_table(terminal, all);
  }
  write(outputs.json, session, audits_json(all));
  if (outputs.page.is_wanted()) write(outputs.page, session, audit_page(all.front()));
  const auto is = [&](ExitStatus status) {
    return std::ranges::any_of(all, [&](const Audited& each) { return exit_of(each.verdict) == status; });
  };
  return is(ExitStatus::broken)    ? ExitStatus::broken
         : is(ExitStatus::gave_up) ? ExitStatus::gave_up
                                   : ExitStatus::held;
}

ExitStatus run_and_judge(Session& session, AuditSearch search, const OutputFile& json) {
  std::error_code ignored;
  const std::string& adapter = search.room.adapter;
  if (search.out.empty())
    search.out = fs::path(".shardcheck") / "audit" / adapter.substr(0, adapter.find(':'));
  if (fs::exists(search.out, ignored) && !fs::is_empty(search.out, ignored))
    throw bad_input("--out " + search.out.string(),
                    "is not empty; traces of two runs are never mixed: give a new folder");
  if (!fs::is_directory(search.setup.probe / "shardcheck_probe", ignored))
    throw bad_input("--probe " + search.setup.probe.string(),
                    "holds no shardcheck_probe; give the folder tools/probe of the checkout");
  const AuditRun run = run_audit(search, session);
  std::ostream& out = text_stream(session, json);
  out << run_text(terminal_of(out), search, run);
  if (!run.all.empty()) write(json, session, audits_json(run.all));
  const bool broken =
      std::ranges::any_of(run.all, [](const Audited& each) { return each.verdict.is_broken(); });
  if (broken) return ExitStatus::broken;
  if (interrupt_flag()) return ExitStatus::interrupted;
  return run.was_cut ? ExitStatus::gave_up : ExitStatus::held;
}

}  // namespace

ExitStatus audit_verb(Session& session, const Arguments& arguments) {
  Outputs outputs;
  bool runs = false;
  AuditSearch search;
  std::int64_t ranks = search.room.ranks;
  std::string probe = SHARDCHECK_PROBE_FOLDER, out, torchrun;
  std::vector<std::string> folders;
  Options options({"audit", "TRACE | --run --adapter NAME [flags]",
                   "judge what a real framework did, as tools/probe recorded it"});
  options.arguments(folders, {"TRACE", "", "a folder that tools/probe wrote: a trace, or several of them"});
  options.flag(runs,
               {"run", "", "no TRACE: draw cases, run them through the framework, judge, shrink what fails"});
  options.flag(search.room.adapter,
               {"adapter", "NAME",
                "ddp, fsdp2, fsdp1, megatron-fsdp, deepspeed, or custom:FILE.py with your own wrapper"});
  options.flag(ranks, {1, 64}, {"ranks", "N", "processes, a GPU each where there are GPUs"});
  options.flag(search.tries, {1, 10000}, {"tries", "N", "random cases"});
  options.flag(search.minutes, {1, 24 * 60}, {"minutes", "N", "for cases and shrinking together"});
  options.flag(search.kinds, {0, 100}, {"shrink", "N", "kinds of failures that are shrunk to a script"});
  options.seed(search.seed);
  options.flag(search.setup.python, {"python", "PATH", "an interpreter that has torch"});
  options.flag(search.setup.device, {"device", "KIND", "auto, cuda or cpu"});
  options.flag(search.setup.deadline, {1, 3600}, {"deadline", "SECONDS", "for a case; what hangs ends then"});
  options.flag(search.setup.at_once, {1, 64}, {"at-once", "N", "cases that run side by side"});
  options.flag(torchrun, {"torchrun", "ARGS", "more arguments for torchrun, separated by spaces"});
  options.flag(probe, {"probe", "DIR", "the folder that holds the package shardcheck_probe"});
  options.flag(out,
               {"out", "DIR", "a new folder for the traces (.shardcheck/audit/NAME when none is given)"});
  options.flag(outputs.json.path, {"json", "FILE", "write the verdicts as JSON; - is standard output"});
  options.flag(outputs.page.path,
               {"html", "FILE",
                "write the verdict on one TRACE as a page: contributions and collectives rank by rank"});
  options.note(
      "Exit status 1 when a clause is broken, 4 when the framework refused the scenario with an exception "
      "and "
      "there is nothing to judge. Record a trace: PYTHONPATH=tools/probe python3 -m shardcheck_probe --cases "
      "CASE.json --out DIR. With --run every kind of failure leaves a case and a script that shows the bug "
      "under "
      "torchrun without shardcheck.");
  if (!options.parse(arguments, session)) return ExitStatus::held;
  require_writable(outputs.json, "--json");
  require_writable(outputs.page, "--html");
  if (outputs.json.is_standard_output() && outputs.page.is_standard_output())
    throw bad_input("--html, --json", "only one of them can be standard output");
  if (runs == !folders.empty())
    throw bad_input("shardcheck audit",
                    runs ? "--run draws its own cases; leave TRACE out" : "give a TRACE, or --run");
  if (!runs && folders.size() > 1)
    throw bad_input("shardcheck audit", "give one TRACE, or one folder that holds several");
  if (runs && outputs.page.is_wanted())
    throw bad_input("--html", "a page tells one TRACE; audit one of those that --run leaves");
  if (!runs) return judge_folder(session, folders.front(), outputs);
  search.room.ranks = static_cast<std::int32_t>(ranks);
  search.setup.probe = probe;
  std::istringstream words(torchrun);
  search.setup.torchrun.assign(std::istream_iterator<std::string>(words), {});
  search.out = out;
  return run_and_judge(session, std::move(search), outputs.json);
}

}  // namespace shardcheck
