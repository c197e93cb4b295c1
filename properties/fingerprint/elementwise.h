// Add, Scale and the optimizer's step, seen from outside: rounding, zeros, subnormals. Read next:
// gemm_end.h, which asks the same of products.
#pragma once

#include <vector>

#include "core/backend.h"
#include "properties/fingerprint/fact.h"

namespace shardcheck {

/// Subjects "add f32" and so on, "scale f32", "optimizer step".
std::vector<Fact> observe_elementwise(Backend& backend);

}  // namespace shardcheck
