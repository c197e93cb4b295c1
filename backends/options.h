// BackendOptions: what a caller must decide before a backend can be made. Next: backends/registry.h.
#pragma once

#include <cstdint>
#include <string>

namespace shardcheck {

/// There is no default: a caller that forgets the profile gets a sentence, not somebody's favourite
/// arithmetic.
struct BackendOptions {
  std::string profile;  ///< arithmetic of the CPU's GEMMs: "ideal" or "hopper" (core/numerics/profile.h)
  /// GPUs whose order of additions the CPU's reductions follow (backends/fold_order.h). 1: the plan's order.
  std::int32_t gpus = 1;
};

}  // namespace shardcheck
