// The laws of E8M0, whose codes are powers of two: F16 and F17 (fp8 2.5, 5.1). Next: format_laws.h.
#pragma once

#include "properties/format_law/evidence.h"
#include "properties/format_law/verdict.h"

namespace shardcheck {

/// F16: the rounding that the cast names, of every number of the case.
FormatVerdict rounds_powers(const FormatEvidence& e);
/// F17: every code means 2^(c - 127), and its fp32 reciprocal is 2^(127 - c).
FormatVerdict has_exact_reciprocals(const FormatEvidence& e);

}  // namespace shardcheck
