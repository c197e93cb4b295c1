// Whether a machine that is asked twice gives the same bits, and a digest of what it gives: two machines that
// agree in every named fact and still differ somewhere differ here. Read next:
// properties/gemm_law/gemm_case.h, whose cases these are.
#pragma once

#include <vector>

#include "core/backend.h"
#include "properties/fingerprint/fact.h"

namespace shardcheck {

/// Random GEMMs, each computed several times: subject "GEMMs of 16-bit operands" and so on, facts "repeated"
/// and "digest"; the same of reductions.
std::vector<Fact> observe_repeats(Backend& backend);

}  // namespace shardcheck
