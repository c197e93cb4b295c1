// The laws of stochastic rounding, F14 and F15 (fp8 2.7, 5.1): every draw is tried, and counted. No op of a
// plan draws, so that core/numerics is judged; and no recipe keeps two random streams, so that their
// independence (the last part of F15) is claimed of nothing. Next: format_laws.h.
#pragma once

#include "properties/format_law/evidence.h"
#include "properties/format_law/verdict.h"

namespace shardcheck {

/// F14: of all 2^k draws floor(fraction 2^k) go up, and all others down.
FormatVerdict draws_by_fraction(const FormatEvidence& e);
/// F15: a number of the format is never moved, and one draw gives one code.
FormatVerdict draws_keep_codes(const FormatEvidence& e);

}  // namespace shardcheck
