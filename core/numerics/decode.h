// From a code to the number it means (fp8 1.2). Exact: every number of every format is an fp32 number.
// Read next: encode.h, the way back.
#pragma once

#include <cstdint>

#include "core/numerics/format.h"

namespace shardcheck {

/// The value of `code`; bits above the format's width must be clear. Exactness class: exact. A NaN code gives
/// a quiet NaN with the code's sign. Source: fp8 1.2.
float decode(const Format& format, std::uint32_t code);

}  // namespace shardcheck
