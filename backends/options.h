// BackendOptions: what a caller must decide before a backend can be made. Next: backends/registry.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace shardcheck {

/// There is no default: a caller that forgets the profile gets a sentence, not somebody's favourite
/// arithmetic.
struct BackendOptions {
  std::string profile;  ///< arithmetic of the CPU's GEMMs: "ideal" or "hopper" (core/numerics/profile.h)
  /// GPUs whose order of additions the CPU's reductions follow (backends/fold_order.h). 1: the plan's order.
  std::int32_t gpus = 1;
  /// How long a collective among GPUs may take before its peers count as lost; nothing: what the environment
  /// says (cuda/cuda_options.h).
  std::optional<std::chrono::milliseconds> comm_timeout;
};

}  // namespace shardcheck
