// shardcheck fingerprint: what a machine's arithmetic is, as far as it can be observed; and in which facts
// two fingerprints differ.
#include "properties/fingerprint/fingerprint.h"

#include <fmt/format.h>

#include <ostream>

#include "backends/cuda/cuda_backend.h"
#include "core/error.h"
#include "tools/shardcheck/fingerprint/as_json.h"
#include "tools/shardcheck/fingerprint/as_text.h"
#include "tools/shardcheck/machine.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/progress.h"
#include "tools/shardcheck/verbs.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

Fingerprint taken(Session& session, const MachineChoice& machine) {
  const auto backend = make_machine(machine);
  Progress progress(session.err);
  Fingerprint fingerprint = observe(*backend, [&](const std::string& part, double share) {
    progress.show({part, share, ""});
  });
  fingerprint.computed_by = gemm_algorithms(*backend);
  return fingerprint;
}

ExitStatus compare(Session& session, const std::string& first, const std::string& second) {
  const Fingerprint a = read_fingerprint(first), b = read_fingerprint(second);
  const auto found = differences(a, b);
  const auto name = [](const std::string& file, const Fingerprint& fingerprint) {
    return fmt::format("{} ({}, {})", file, fingerprint.machine.name, fingerprint.machine.device);
  };
  session.out << fmt::format("A  {}\nB  {}\n", name(first, a), name(second, b));
  if (found.empty()) {
    session.out << fmt::format("the same: {}\n", counted(std::ssize(a.facts), "fact"));
    return ExitStatus::held;
  }
  session.out << differences_text(terminal_of(session.out), found)
              << fmt::format("{} of {} differ\n", found.size(), counted(std::ssize(a.facts), "fact"));
  return ExitStatus::broken;
}

}  // namespace

ExitStatus fingerprint_verb(Session& session, const Arguments& arguments) {
  MachineChoice machine;
  OutputFile json;
  std::string first;
  std::vector<std::string> others;
  Options options({"fingerprint", "[flags] | --diff A.json B.json",
                   "what this machine's arithmetic is, as far as it can be observed"});
  add_flags(options, machine);
  options.flag(json.path, {"json", "FILE", "write every fact with its probes as JSON; - is standard output"});
  options.flag(first, {"diff", "A.json", "compare two such files: exit status 1 when a fact differs"});
  options.arguments(others, {"B.json", "", "the second file of --diff"});
  if (!options.parse(arguments, session)) return ExitStatus::held;
  if (!first.empty() && others.size() == 1) return compare(session, first, others.front());
  if (!first.empty())
    throw bad_input("shardcheck fingerprint", "--diff compares two files: --diff A.json B.json");
  if (!others.empty())
    throw bad_input("shardcheck fingerprint",
                    fmt::format("\"{}\" is no flag; to compare files: --diff A.json B.json", others.front()));
  require_writable(json, "--json");
  const Fingerprint fingerprint = taken(session, machine);
  const std::vector<std::string> versions = versions_of(machine);
  std::ostream& out = text_stream(session, json);
  out << fingerprint_text(terminal_of(out), fingerprint, versions);
  if (json.is_wanted()) write(json, session, to_json(fingerprint, versions));
  return ExitStatus::held;
}

}  // namespace shardcheck
