// Ops on blocks that share a scale, seen from outside: amaxes, scales, codes, both copies of a matrix,
// delayed scaling, each beside its definition in core/recipe. Read next: casts.h, which asks the same of
// casts.
#pragma once

#include <vector>

#include "core/backend.h"
#include "properties/fingerprint/fact.h"

namespace shardcheck {

/// Subjects "te-mxfp8" and so on for one recipe of every kind of blocks, and "delayed scaling".
std::vector<Fact> observe_block_ops(Backend& backend);

}  // namespace shardcheck
