// BackendChoice: the flags --backend, --against, --profile and --comm-timeout, which most verbs have, and the
// machine that they mean.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/backend.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/processes.h"

namespace shardcheck {

struct BackendChoice {
  std::string backend = "cpu";
  std::string against;  ///< a second one, whose bits must agree; empty: none
  std::string
      profile;  ///< empty: that of the GPU where one takes part, else "ideal" (exact data agree under each)

  std::optional<double> comm_timeout;  ///< in seconds
  int processes = 1;                   ///< of the launch, once they have met

  std::string spec() const;  ///< for the registry
  std::string arithmetic() const;
};

void add_flags(Options& options, BackendChoice& choice);

/// Waits for the other processes of the launch, where there are some. Throws Error.
void meet(Session& session, BackendChoice& choice);

/// Lends such a backend a call: one that came back, or a new one. With a GPU a new one costs a tenth of a
/// second, communicators included, and a run of the zoo asks for hundreds. The first is made here, so that a
/// name or a machine that is wrong shows at once: throws Error. Where several processes have met, the backend
/// is joint (core/joint.h), and all processes make the same calls.
std::function<LentBackend()> factory_of(const BackendChoice& choice, Processes& processes);

/// " --backend cuda --profile hopper" as far as it differs from the default, for commands that reproduce.
std::string flags_text(const BackendChoice& choice);

/// "cpu (ideal)", "cpu (ideal), 4 processes", for people.
std::string describe(const BackendChoice& choice);

}  // namespace shardcheck
