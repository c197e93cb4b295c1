// The laws of amaxes, F18 and F19 (fp8 5.2): whatever the order, the signs, the pieces, and wherever a NaN
// is. Next: scale_laws.h.
#pragma once

#include "properties/scale_law/subject.h"

namespace shardcheck {

/// F18, of the numbers that are no NaN.
ScaleVerdict measures_the_largest(const ScaleSubject& s);
/// F19, with a NaN put first, last and at the cut, under both policies.
ScaleVerdict treats_nan_alike(const ScaleSubject& s);

}  // namespace shardcheck
