// How a cast treats what has no nearest number: the five named parts of a policy (fp8 0.3), and the policies
// that implementations follow (fp8 2.3). There is one rounding rule in the world and many edge policies, so
// no part has a default: whoever casts says all five. Read next: encode.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace shardcheck {

/// Onto the format's grid, before overflow is tested.
enum class Rounding : std::uint8_t { nearest_even, toward_zero };

/// A finite value whose rounded magnitude exceeds the largest code. A format without special codes always
/// clamps.
enum class FiniteOverflow : std::uint8_t {
  saturate,    ///< the largest finite code
  to_special,  ///< infinity where the format has one, else NaN with the value's sign
};

/// An infinite source.
enum class InfinityRule : std::uint8_t {
  as_overflow,  ///< like a finite overflow
  to_special,   ///< infinity or NaN even when finite values saturate
};

/// Which code a NaN becomes.
enum class NanCode : std::uint8_t {
  all_ones_or_max,        ///< every mantissa bit set; in a format without NaN the largest finite code
  quiet_or_negated_zero,  ///< only the quiet bit set; in a format without NaN a zero of the opposite sign
};

/// Whether the sign of a NaN survives. FNUZ has one NaN, so nothing to keep.
enum class NanSign : std::uint8_t { drop, keep };

/// All that a cast leaves open.
struct CastPolicy {
  Rounding rounding;
  FiniteOverflow finite_overflow;
  InfinityRule infinity;
  NanCode nan_code;
  NanSign nan_sign;
  constexpr bool operator==(const CastPolicy&) const = default;
};

/// CUDA headers and PTX `cvt.rn.satfinite`; the policy `nv` of fp8 0.3.
inline constexpr CastPolicy kNvSaturating{Rounding::nearest_even, FiniteOverflow::saturate,
                                          InfinityRule::as_overflow, NanCode::all_ones_or_max, NanSign::drop};
/// CUDA headers with NOSAT.
inline constexpr CastPolicy kNvNoSaturation{Rounding::nearest_even, FiniteOverflow::to_special,
                                            InfinityRule::as_overflow, NanCode::all_ones_or_max,
                                            NanSign::drop};
/// ml_dtypes, default casts.
inline constexpr CastPolicy kMlDtypes{Rounding::nearest_even, FiniteOverflow::to_special,
                                      InfinityRule::to_special, NanCode::quiet_or_negated_zero,
                                      NanSign::keep};
/// ml_dtypes, saturating casts: an infinity still becomes NaN or infinity.
inline constexpr CastPolicy kMlDtypesSaturating{Rounding::nearest_even, FiniteOverflow::saturate,
                                                InfinityRule::to_special, NanCode::quiet_or_negated_zero,
                                                NanSign::keep};
/// torch eager up to 2.11.
inline constexpr CastPolicy kTorchBefore{Rounding::nearest_even, FiniteOverflow::to_special,
                                         InfinityRule::to_special, NanCode::all_ones_or_max, NanSign::keep};
/// torch eager from 2.12. Its rule for infinity was not looked at again (fp8 2.3): taken as before.
inline constexpr CastPolicy kTorchAfter{Rounding::nearest_even, FiniteOverflow::saturate,
                                        InfinityRule::to_special, NanCode::all_ones_or_max, NanSign::keep};
/// Narrowing to fp32, bf16 and fp16 everywhere in this project: IEEE, with one canonical quiet NaN.
inline constexpr CastPolicy kIeee{Rounding::nearest_even, FiniteOverflow::to_special,
                                  InfinityRule::to_special, NanCode::quiet_or_negated_zero, NanSign::drop};

/// A policy and what reports call it.
struct NamedCastPolicy {
  std::string_view name;
  CastPolicy policy;
};

inline constexpr std::array<NamedCastPolicy, 7> kCastPolicies = {{
    {"nv_saturating", kNvSaturating},
    {"nv_nosat", kNvNoSaturation},
    {"ml_dtypes", kMlDtypes},
    {"ml_dtypes_saturating", kMlDtypesSaturating},
    {"torch_before", kTorchBefore},
    {"torch_after", kTorchAfter},
    {"ieee", kIeee},
}};

/// Two names for one behaviour would make a report lie about which one it means.
constexpr bool policies_differ() {
  for (std::size_t i = 0; i < kCastPolicies.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kCastPolicies[i].policy == kCastPolicies[j].policy) return false;
    }
  }
  return true;
}
static_assert(policies_differ());

/// The policy of that name, or nothing.
constexpr std::optional<CastPolicy> cast_policy_named(std::string_view name) {
  for (const NamedCastPolicy& named : kCastPolicies) {
    if (named.name == name) return named.policy;
  }
  return std::nullopt;
}

}  // namespace shardcheck
