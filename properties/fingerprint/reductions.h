// How collectives add, seen from outside: orders and roundings are computed here on numbers on which they
// differ, and those that contradict the machine are struck out. On several GPUs the additions between them
// are the library's (NCCL). Read next: backends/fold_order.h, which says what the order should be.
#pragma once

#include <vector>

#include "core/backend.h"
#include "properties/fingerprint/fact.h"

namespace shardcheck {

/// Subjects "all_reduce f32 over 4 ranks" and so on: "sum", "average"; and "reductions": -0, NaN,
/// subnormals, and the maximum, which no op takes; and "all_gather over 4 ranks".
std::vector<Fact> observe_reductions(Backend& backend);

}  // namespace shardcheck
