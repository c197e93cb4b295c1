// Every named way to cast fp32 into a format: the cast policies, or for E8M0 the roundings of a power of two.
// What certificates, tables and black-box questions range over. Read next: cast_policy.h, encode.h.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/numerics/cast_policy.h"
#include "core/numerics/encode.h"
#include "core/numerics/format.h"

namespace shardcheck {

/// What a cast to E8M0 leaves open.
struct PowerOfTwoPolicy {
  PowerOfTwoRounding rounding;
  FiniteOverflow overflow;
};

struct NamedCast {
  FormatId format;
  std::string name;  ///< "nv_saturating"; E8M0: "rp_sat"
  std::variant<CastPolicy, PowerOfTwoPolicy> rule;

  /// By the readable encoder; exact. Negative numbers have no code in UE4M3 (takes()).
  std::uint32_t code_of(std::uint32_t f32_bits) const;
  /// Whether the format has a code for the number: UE4M3 has none for those below zero.
  bool takes(std::uint32_t f32_bits) const { return format != FormatId::ue4m3 || f32_bits >> 31 == 0; }
};

/// All of the format, in the order of kCastPolicies. Empty for fp32, which nothing is cast to from fp32.
std::vector<NamedCast> named_casts(FormatId format);

}  // namespace shardcheck
