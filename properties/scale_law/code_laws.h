// The laws of one scale for a list of codes, F17, F27 and F39 (fp8 5.1 to 5.3): executed as Quantize and
// Dequantize ops on the backend. Next: scale_laws.h.
#pragma once

#include "properties/scale_law/subject.h"

namespace shardcheck {

/// F27: every finite code comes back by the scale of the case.
ScaleVerdict keeps_codes(const ScaleSubject& s);
/// F17: the power of two of the E8M0 code of the case is what a code of 1 becomes with it, the subnormal one
/// included.
ScaleVerdict powers_arrive(const ScaleSubject& s);
/// F39: every other code times that power is exact, in fp32 and in bf16, where the result is normal.
ScaleVerdict products_are_exact(const ScaleSubject& s);

}  // namespace shardcheck
