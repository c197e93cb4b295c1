// The laws of scale formulas, F20 to F22 and F24 (fp8 5.2), over the amaxes of the case and the corners that
// formulas have: zero, subnormals, overflowing quotients, 7 2^k and 448 2^k, infinity, NaN. Next:
// scale_oracle.h.
#pragma once

#include "properties/scale_law/subject.h"

namespace shardcheck {

/// F20.
ScaleVerdict follows_its_formula(const ScaleSubject& s);
/// F21. A formula that divides by the amax itself (AO) or stores amax / fmax (DG) says nothing of infinity,
/// and the block scale of two levels may be 0 (fp8 3.5), never NaN.
ScaleVerdict is_finite(const ScaleSubject& s);
/// F22.
ScaleVerdict stores_its_inverse(const ScaleSubject& s);
/// F24, with an epsilon of half of the amax, of it, and of twice it.
ScaleVerdict raises_amax_only(const ScaleSubject& s);

}  // namespace shardcheck
