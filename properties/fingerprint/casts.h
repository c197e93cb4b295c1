// The five parts of a cast policy (core/numerics/cast_policy.h), read from what a machine makes of chosen
// numbers. The same questions go to Cast, which names a policy, and to Copy, which narrows to bf16 and fp16.
// Read next: core/numerics/encode.h, which computes what each answer would be.
#pragma once

#include <string_view>
#include <vector>

#include "core/backend.h"
#include "properties/fingerprint/fact.h"

namespace shardcheck {

/// Names of the facts of one cast.
namespace cast_facts {
inline constexpr std::string_view kRounding = "rounding";
inline constexpr std::string_view kOverflow = "finite overflow";
inline constexpr std::string_view kInfinity = "infinity";
inline constexpr std::string_view kNanCode = "NaN code";
inline constexpr std::string_view kNanSign = "NaN sign";
inline constexpr std::string_view kMinusZero = "minus zero";
inline constexpr std::string_view kSubnormals = "subnormals";
}  // namespace cast_facts

/// Of f32, bf16 and f16 to E4M3 and E5M2 by every policy of kCastPolicies: subject "cast f32 -> e4m3,
/// nv_saturating". Of f32 to bf16 and f16 by Copy: subject "copy f32 -> bf16".
std::vector<Fact> observe_casts(Backend& backend);

/// Whether Quantize and Dequantize round their product to fp32 first (fp8 2.8).
std::vector<Fact> observe_scaled_casts(Backend& backend);

}  // namespace shardcheck
