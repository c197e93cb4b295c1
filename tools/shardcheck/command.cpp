#include "tools/shardcheck/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <ostream>
#include <string_view>

#include "core/error.h"
#include "tools/shardcheck/nearest.h"
#include "tools/shardcheck/verbs.h"

namespace shardcheck {
namespace {

struct Verb {
  std::string_view name;
  std::string_view summary;
  ExitStatus (*run)(Session& session, const Arguments& arguments);
};

constexpr Verb kVerbs[] = {
    {"check", "run the properties on random training steps", check_verb},
    {"replay", "run one scenario again and print what it breaks", replay_verb},
    {"explain", "why a scenario fails: first wrong op, history of the bytes, what would mend it",
     explain_verb},
    {"zoo", "switch on every known bug: which property catches it, on which smallest scenario", zoo_verb},
    {"redesigns", "in which cells every proposed write protocol is sound, by running them", redesigns_verb},
    {"conform", "recompute recorded data and name every disagreement", conform_verb},
    {"layout", "which rank holds which rows of which tensor, what is padding and why", layout_verb},
    {"record", "write down results of this machine, for conform", record_verb},
    {"fingerprint", "what this machine's arithmetic is, as far as it can be observed", fingerprint_verb},
    {"list", "properties, clauses, backends, faults, scenarios, protocols", list_verb},
    {"doctor", "what this machine offers, and why a backend is missing", doctor_verb},
};

constexpr std::string_view kExitStatuses =
    "Exit status: 0 all held; 1 a clause was broken; 2 the input or the command line is wrong; 3 the "
    "machine\n"
    "cannot; 4 gave up (required coverage not reached); 70 our own mistake; 130 interrupted, nothing "
    "broken.\n";

std::string help() {
  std::string text =
      "shardcheck: executable contracts for sharded, FP8 training state\n\nUsage: shardcheck VERB ...\n\n";
  for (const Verb& verb : kVerbs) text += fmt::format("  {:<12}{}\n", verb.name, verb.summary);
  text +=
      fmt::format("\n`shardcheck VERB --help` lists the flags of a verb. Begin with `shardcheck check`.\n{}",
                  kExitStatuses);
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
  return verb_named(name).run(session, arguments);
}

/// A full disk behind a redirection must not look like a verdict.
ExitStatus flushed(Session& session, ExitStatus status) {
  session.out.flush();
  if (session.out) return status;
  session.err << "shardcheck: standard output: cannot write\n";
  return ExitStatus::machine_cannot;
}

}  // namespace

int run_command(std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
  Session session{out, err};
  ExitStatus status = ExitStatus::mistake;
  try {
    status = dispatch(session, std::move(arguments));
  } catch (const Error& error) {
    err << "shardcheck: " << error.what() << "\n";
    status = static_cast<ExitStatus>(error.kind());
  } catch (const std::bad_alloc&) {
    err << "shardcheck: out of memory; a smaller scenario or fewer --threads needs less\n";
    status = ExitStatus::machine_cannot;
  } catch (const std::exception& error) {
    err << "shardcheck: a mistake of ours: " << error.what() << "\n";
  }
  return static_cast<int>(flushed(session, status));
}

}  // namespace shardcheck
