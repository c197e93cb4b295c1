// Relations: properties that one examination cannot answer. They run a scenario twice, watch single ops, or
// change what must not matter.
#pragma once

#include "properties/property.h"

namespace shardcheck {

/// W3: quiet NaN or a large number in undefined bytes, the consumer reads the same bits.
std::vector<Finding> poison_independence(Backend& backend, const Scenario& scenario);

/// W9: around every write of an empty microbatch. beta = 0 leaves zeros, beta = 1 leaves the bits.
std::vector<Finding> empty_gemm(Backend& backend, const Scenario& scenario);

/// W11: a fused write of a non-zero contribution changes the destination.
std::vector<Finding> flag_honesty(Backend& backend, const Scenario& scenario);

/// W28: poisoning every stale slice before the consumer reads changes nothing.
std::vector<Finding> owned_shard(Backend& backend, const Scenario& scenario);

}  // namespace shardcheck
