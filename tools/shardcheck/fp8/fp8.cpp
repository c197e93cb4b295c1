// shardcheck fp8: narrow numbers by hand. What a number becomes, what a code means, where two policies
// differ, which policy made given codes, certificates over all inputs; and whole checkpoints.
#include <fmt/format.h>

#include <ostream>

#include "core/error.h"
#include "tools/shardcheck/fp8/subverbs.h"
#include "tools/shardcheck/nearest.h"
#include "tools/shardcheck/verbs.h"

namespace shardcheck {
namespace {

struct Subverb {
  std::string_view name, usage, summary;
  ExitStatus (*run)(Session& session, const Arguments& arguments);
};

constexpr Subverb kSubverbs[] = {
    {"cast", "NUMBER... [--format e4m3] [--policy NAME|all]",
     "what a number becomes: neighbours, midpoint, the code by every policy", fp8::cast},
    {"table", "FORMAT", "every code of a format and what it means", fp8::table},
    {"compare", "POLICY POLICY [--format e4m3]", "all inputs on which two policies differ", fp8::compare},
    {"infer", "[FILE] [--format e4m3]", "which policy explains given inputs and codes", fp8::infer},
    {"certify", "[FORMAT...] [--backend NAME]", "every policy over all 2^32 inputs, with a digest to compare",
     fp8::certify},
    {"quantize", "FILE --recipe NAME --out FILE", "the matrices of a checkpoint become codes and scales",
     fp8::quantize},
    {"verify", "FILE [--against FILE] [--recipe NAME]",
     "are codes and scales of a checkpoint right; what is wrong where, and of what kind", fp8::verify_files},
};

std::string help() {
  std::string text = "shardcheck fp8: narrow numbers by hand\n\nUsage: shardcheck fp8 QUESTION ...\n\n";
  for (const Subverb& subverb : kSubverbs)
    text += fmt::format("  {:<9}{}\n           {}\n", subverb.name, subverb.usage, subverb.summary);
  return text + "\n`shardcheck fp8 QUESTION --help` lists the flags of a question.\n";
}

const Subverb& subverb_named(const std::string& name) {
  std::vector<std::string> known;
  for (const Subverb& subverb : kSubverbs) {
    if (subverb.name == name) return subverb;
    known.emplace_back(subverb.name);
  }
  throw bad_input("shardcheck fp8",
                  unknown_name({name, "question", std::move(known), "shardcheck fp8 --help"}));
}

}  // namespace

ExitStatus fp8_verb(Session& session, const Arguments& arguments) {
  if (arguments.empty()) {
    session.err << help();
    return ExitStatus::bad_input;
  }
  if (arguments.front() == "--help" || arguments.front() == "-h") {
    session.out << help();
    return ExitStatus::held;
  }
  const Subverb& subverb = subverb_named(arguments.front());
  return subverb.run(session, Arguments(arguments.begin() + 1, arguments.end()));
}

}  // namespace shardcheck
