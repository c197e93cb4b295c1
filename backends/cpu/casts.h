// Ops with FP8 on one side: casts, quantisation by a given scale and its inverse (fp8 2.1, 2.8). By the fast
// casts of core/numerics, which equal the readable encoder. A NaN that lands in f32, bf16 or f16 is the
// canonical one.
#pragma once

#include "backends/cpu/elementwise.h"
#include "core/assert.h"
#include "core/numerics/cast_policy.h"

namespace shardcheck::cpu {

/// The policy of an op: an index in kCastPolicies.
inline const CastPolicy& policy_of(std::int8_t index) {
  SC_ASSERT(index >= 0 && static_cast<std::size_t>(index) < kCastPolicies.size(),
            "the policy of a cast is not in kCastPolicies");
  return kCastPolicies[static_cast<std::size_t>(index)].policy;
}

/// destination := source; at least one of them is FP8. Into FP8 by `policy`, one rounding; out of FP8
/// exactly: the policy has nothing to say there, an infinity stays one.
void cast(const SourceTo& ranges, const CastPolicy& policy);

/// Operands of an op with one fp32 scale; source and destination have equally many elements.
struct ScaledRanges {
  Range source, scale, destination;
};

/// destination (FP8) := encode(RN(source * scale)): the product is rounded to fp32 first.
void quantize(const ScaledRanges& ranges, const CastPolicy& policy);

/// destination := RN(decode(source) * scale), rounded once more when it is bf16 or f16; source is FP8.
void dequantize(const ScaledRanges& ranges);

}  // namespace shardcheck::cpu
