#include "tools/shardcheck/command.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <ostream>
#include <streambuf>
#include <string_view>

#include "core/error.h"
#include "tools/shardcheck/nearest.h"
#include "tools/shardcheck/processes.h"
#include "tools/shardcheck/verbs.h"

namespace shardcheck {
namespace {

struct Verb {
  std::string_view name;
  std::string_view summary;
  ExitStatus (*run)(Session& session, const Arguments& arguments);
  bool is_joint = false;  ///< several processes run it together; of the others process 0 runs it alone
};

constexpr Verb kVerbs[] = {
    {"check", "run the properties on random training steps", check_verb, true},
    {"replay", "run one scenario again and print what it breaks", replay_verb, true},
    {"explain", "why a scenario fails: first wrong op, history of the bytes, what would mend it",
     explain_verb, true},
    {"plan", "what a scenario means, op by op, and what it costs", plan_verb},
    {"zoo", "switch on every known bug: which property catches it, on which smallest scenario", zoo_verb,
     true},
    {"sweep", "a scenario at all settings of a few fields: which of them flips the result", sweep_verb},
    {"redesigns", "in which cells every proposed write protocol is sound, by running them", redesigns_verb},
    {"conform", "recompute recorded data and name every disagreement", conform_verb},
    {"record", "write down results of this machine, for conform", record_verb},
    {"fingerprint", "what this machine's arithmetic is, as far as it can be observed", fingerprint_verb},
    {"fp8", "narrow numbers by hand: casts, tables, policies compared and inferred, certificates", fp8_verb},
    {"layout", "which rank holds which rows of which tensor, what is padding and why", layout_verb},
    {"audit", "judge a real framework from outside: DDP, FSDP2, Megatron-FSDP or your own", audit_verb},
    {"list", "properties, clauses, backends, faults, scenarios, protocols", list_verb},
    {"doctor", "what this machine offers, and why a backend is missing", doctor_verb},
};

constexpr std::string_view kExitStatuses =
    "Exit status: 0 all held; 1 a clause was broken; 2 the input or the command line is wrong; 3 the "
    "machine\n"
    "cannot; 4 gave up (required coverage not reached); 70 our own mistake; 130 interrupted, nothing "
    "broken.\n";

constexpr std::string_view kSeveralProcesses =
    "Under mpirun, or where a launcher set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, all processes run\n"
    "check, replay, explain and zoo together, each with a part of the ranks, and process 0 prints. The "
    "other\n"
    "verbs run in process 0 alone.\n";

std::string help() {
  std::string text =
      "shardcheck: executable contracts for sharded, FP8 training state\n\nUsage: shardcheck VERB ...\n\n";
  for (const Verb& verb : kVerbs) text += fmt::format("  {:<12}{}\n", verb.name, verb.summary);
  text += fmt::format(
      "\n`shardcheck VERB --help` lists the flags of a verb. Begin with `shardcheck check`.\n{}\n{}",
      kSeveralProcesses, kExitStatuses);
  return text;
}

const Verb& verb_named(const std::string& name) {
  const auto* found = std::ranges::find(kVerbs, name, &Verb::name);
  if (found != std::end(kVerbs)) return *found;
  std::vector<std::string> known;
  for (const Verb& verb : kVerbs) known.emplace_back(verb.name);
  throw Error(ErrorKind::bad_input, unknown_name({name, "verb", std::move(known), "shardcheck --help"}));
}

ExitStatus dispatch(Session& session, Arguments arguments) {
  if (arguments.empty()) {
    session.err << help();
    return ExitStatus::bad_input;
  }
  std::string name = arguments.front();
  arguments.erase(arguments.begin());
  if (name == "help" && !arguments.empty()) {
    name = arguments.front();
    arguments = {"--help"};
  }
  if (name == "help" || name == "--help" || name == "-h") {
    session.out << help();
    return ExitStatus::held;
  }
  if (name == "--version") {
    session.out << "shardcheck " SHARDCHECK_VERSION "\n";
    return ExitStatus::held;
  }
  const Verb& verb = verb_named(name);
  if (verb.is_joint) return verb.run(session, arguments);
  if (!session.processes.is_first()) return ExitStatus::held;
  Processes one;
  Session alone{session.out, session.err, one};
  return verb.run(alone, arguments);
}

/// A full disk behind a redirection must not look like a verdict.
ExitStatus flushed(Session& session, ExitStatus status) {
  session.out.flush();
  if (session.out) return status;
  session.err << "shardcheck: standard output: cannot write\n";
  return ExitStatus::machine_cannot;
}

/// Takes what is written and shows it to nobody.
class Silence final : public std::streambuf {
 protected:
  int overflow(int character) override { return traits_type::not_eof(character); }
};

/// What went wrong is said by process 0; by another one where process 0 may never hear of it.
ExitStatus ended(Session& session, const Error& error, std::ostream& err) {
  session.err.flush();
  const bool is_told = session.processes.fail(error);
  if (session.processes.is_first()) {
    err << fmt::format("shardcheck: {}\n", error.what());
  } else if (!is_told) {
    err << fmt::format("shardcheck: on process {}: {}\n", session.processes.index(), error.what());
  }
  return static_cast<ExitStatus>(error.kind());
}

ExitStatus run(Session& session, Arguments arguments, std::ostream& err) {
  try {
    const ExitStatus mine = flushed(session, dispatch(session, std::move(arguments)));
    return session.processes.end(mine);
  } catch (const Error& error) {
    return ended(session, error, err);
  } catch (const std::bad_alloc&) {
    return ended(
        session,
        Error(ErrorKind::machine_cannot, "out of memory; a smaller scenario or fewer --threads needs less"),
        err);
  } catch (const std::exception& error) {
    ended(session, Error(ErrorKind::machine_cannot, fmt::format("a mistake of ours: {}", error.what())), err);
    return ExitStatus::mistake;
  }
}

}  // namespace

int run_command(std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
  try {
    Processes processes(launch_of_environment(), fmt::format("shardcheck {}", fmt::join(arguments, " ")));
    Silence silence;
    std::ostream nowhere(&silence);
    const bool is_first = processes.is_first();
    Session session{is_first ? out : nowhere, is_first ? err : nowhere, processes};
    return static_cast<int>(run(session, std::move(arguments), err));
  } catch (const Error& error) {
    err << "shardcheck: " << error.what() << "\n";
    return static_cast<int>(error.kind());
  }
}

}  // namespace shardcheck
