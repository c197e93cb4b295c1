// The zoo of casts: casts with one known fault each, and the law that must catch it (fp8 7). Entries Q... are
// of that catalogue; entries M... are ours, so that every judged law has a fault. Next: cast_property.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/numerics/cast_policy.h"
#include "core/numerics/format.h"
#include "properties/cast_law/cast_property.h"

namespace shardcheck {

struct CastFault {
  std::string_view id;                  ///< "Q01"
  std::string_view title;               ///< what goes wrong, one sentence
  std::string_view law;                 ///< that must catch it
  std::string_view policy;              ///< that shows it
  std::array<std::uint32_t, 2> inputs;  ///< likewise, fp32 bits into E4M3
  /// The code of an fp32 number, instead of that by the policy.
  std::uint32_t (*code)(const Format& format, const CastPolicy& policy, std::uint32_t f32_bits);
};

std::span<const CastFault> cast_zoo();

/// Null when there is none of that id.
const CastFault* find_cast_fault(std::string_view id);

/// The smallest case that shows the fault, with the fault in it.
CastCase case_of(const CastFault& fault);

}  // namespace shardcheck
