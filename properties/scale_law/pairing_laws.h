// The laws of codes and scales together, F29 and F38 (fp8 5.3), on numbers that no scale overflows on. Next:
// scale_laws.h.
#pragma once

#include "properties/scale_law/subject.h"

namespace shardcheck {

/// F29: (a) with fp32 scales codes stay and the inverse moves by at most 2 ulp; (b) with powers of two
/// numbers stay, and codes where the scale stays.
ScaleVerdict survives_requantisation(const ScaleSubject& s);
/// F38: no block whose every number comes back off by one factor.
ScaleVerdict scale_fits_codes(const ScaleSubject& s);

}  // namespace shardcheck
