// `replay --schedule` on a machine whose streams run at once: every race of the plan with its first op late,
// beside what the CPU says happens when the second op comes first.
#pragma once

#include <cstdint>
#include <string>

#include "properties/counterexample.h"
#include "tools/shardcheck/backend_choice.h"
#include "tools/shardcheck/options.h"

namespace shardcheck {

inline constexpr std::int64_t kUsualTries = 8;

/// Runs and prints. `tries` runs a race, and as many without a delay. Throws Error, also where the backend of
/// `choice` cannot hold a stream back.
ExitStatus replay_delayed(Session& session, const Counterexample& given, const BackendChoice& choice,
                          std::int64_t tries);

}  // namespace shardcheck
