// In which order a product's scales and alpha are multiplied, and where they round: orders are computed here
// on numbers on which they differ, and those that contradict the machine are struck out. What remains is the
// fact. Read next: gemm_end.h, the rest of an epilogue.
#pragma once

#include <vector>

#include "core/backend.h"
#include "properties/fingerprint/fact.h"

namespace shardcheck {

/// Subjects "scales TENSOR x TENSOR, fast" and so on, one a scale mode and mode of accumulation, and "alpha
/// of bf16 x bf16". The value is the order that is left; several orders with " or " between them where these
/// numbers did not tell them apart, and "none of N orders" where all were struck out.
std::vector<Fact> observe_scale_order(Backend& backend);

}  // namespace shardcheck
