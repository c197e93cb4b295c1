// BackendChoice: the flags --backend, --against and --profile, which most verbs have, and the machine that
// they mean.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/backend.h"
#include "tools/shardcheck/options.h"

namespace shardcheck {

struct BackendChoice {
  std::string backend = "cpu";
  std::string against;  ///< a second one, whose bits must agree; empty: none
  std::string
      profile;  ///< empty: that of the GPU where one takes part, else "ideal" (exact data agree under each)

  std::string spec() const;  ///< for the registry
  std::string arithmetic() const;
};

void add_flags(Options& options, BackendChoice& choice);

/// Makes one such backend a call. The first is made here, so that a name or a machine that is wrong shows at
/// once: throws Error.
std::function<std::unique_ptr<Backend>()> factory_of(const BackendChoice& choice);

/// " --backend cuda --profile hopper" as far as it differs from the default, for commands that reproduce.
std::string flags_text(const BackendChoice& choice);

/// "cpu (ideal)", for people.
std::string describe(const BackendChoice& choice);

}  // namespace shardcheck
