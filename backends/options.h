// BackendOptions: what a caller must decide before a backend can be made. Next: backends/registry.h.
#pragma once

#include <string>

namespace shardcheck {

/// There is no default: a caller that forgets the profile gets a sentence, not somebody's favourite
/// arithmetic.
struct BackendOptions {
  std::string profile;  ///< arithmetic of the CPU's GEMMs: "ideal" or "hopper" (core/numerics/profile.h)
};

}  // namespace shardcheck
