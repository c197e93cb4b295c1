#include "tools/shardcheck/backend_choice.h"

#include <fmt/format.h>

#include "backends/registry.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {

void add_flags(Options& options, BackendChoice& choice) {
  options.flag(choice.backend, {"backend", "NAME",
                                "machine that executes the ops: cpu, cuda, faulty:NAME (`shardcheck list "
                                "backends`)"});
  options.flag(choice.against,
               {"against", "NAME",
                "a second machine that must leave the same bits: finished gradients are compared "
                "in every case, op by op where they differ"});
  options.flag(choice.profile, {"profile", "NAME",
                                "arithmetic of the CPU's GEMMs: ideal (exact sums, rounded once) or hopper "
                                "(the tensor cores of an H200); hopper beside a GPU, else ideal"});
}

std::string BackendChoice::spec() const {
  return against.empty() ? backend : fmt::format("shadow:{},{}", against, backend);
}

std::string BackendChoice::arithmetic() const {
  if (!profile.empty()) return profile;
  return backend == "cuda" || against == "cuda" ? "hopper" : "ideal";
}

std::function<std::unique_ptr<Backend>()> factory_of(const BackendChoice& choice) {
  const auto make = [choice] { return make_backend(choice.spec(), {.profile = choice.arithmetic()}); };
  make();
  return make;
}

std::string flags_text(const BackendChoice& choice) {
  const BackendChoice preset;
  std::string text;
  if (choice.backend != preset.backend) text += " --backend " + shell_quoted(choice.backend);
  if (choice.against != preset.against) text += " --against " + shell_quoted(choice.against);
  if (choice.profile != preset.profile) text += " --profile " + shell_quoted(choice.profile);
  return text;
}

std::string describe(const BackendChoice& choice) {
  const std::string pair = choice.against.empty() ? "" : " against " + choice.against;
  return fmt::format("{}{} ({})", choice.backend, pair, choice.arithmetic());
}

}  // namespace shardcheck
