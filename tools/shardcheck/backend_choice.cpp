#include "tools/shardcheck/backend_choice.h"

#include <fmt/format.h>

#include "backends/registry.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {

void add_flags(Options& options, BackendChoice& choice) {
  options.flag(choice.backend, {"backend", "NAME",
                                "machine that executes the ops: cpu, cuda, faulty:NAME (`shardcheck list "
                                "backends`)"});
  options.flag(choice.profile, {"profile", "NAME",
                                "arithmetic of the CPU's GEMMs: ideal (exact sums, rounded once) or hopper "
                                "(the tensor cores of an H200)"});
}

std::function<std::unique_ptr<Backend>()> factory_of(const BackendChoice& choice) {
  const auto make = [choice] { return make_backend(choice.backend, {.profile = choice.profile}); };
  make();
  return make;
}

std::string flags_text(const BackendChoice& choice) {
  const BackendChoice preset;
  std::string text;
  if (choice.backend != preset.backend) text += " --backend " + shell_quoted(choice.backend);
  if (choice.profile != preset.profile) text += " --profile " + shell_quoted(choice.profile);
  return text;
}

std::string describe(const BackendChoice& choice) {
  return fmt::format("{} ({})", choice.backend, choice.profile);
}

}  // namespace shardcheck
