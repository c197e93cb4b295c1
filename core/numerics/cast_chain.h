// Casts in a row: a declared double rounding (fp8 2.6). An undeclared one is a fault (F12); a declared one,
// such as fp32 to the model's type to FP8 (fp8 4.2), is a recipe, and its reference does the same roundings.
#pragma once

#include <cstdint>
#include <span>

#include "core/numerics/cast_policy.h"
#include "core/numerics/format.h"

namespace shardcheck {

/// One rounding of the chain.
struct CastStep {
  FormatId format;
  CastPolicy policy;
};

/// The code in the last step's format of an fp32 number given by its bits, which is rounded at every step in
/// turn. There is at least one step. Exactness class: exact. Source: fp8 2.6.
std::uint32_t encode_through(std::span<const CastStep> steps, std::uint32_t f32_bits);

}  // namespace shardcheck
