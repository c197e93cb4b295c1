// What a column or a plane of recorded casts is called, and the code that belongs there: "e4m3_sat", "e2m1",
// "e8m0_rp_sat". For the readers of this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/numerics/cast_policy.h"
#include "core/numerics/encode.h"
#include "core/numerics/format.h"

namespace shardcheck {

struct RecordedCast {
  FormatId format = FormatId::e4m3;
  CastPolicy policy = kNvSaturating;
  PowerOfTwoRounding rounding = PowerOfTwoRounding::up;  ///< of E8M0

  std::uint32_t code_of(std::uint32_t f32_bits) const;
};

/// A format's name, where "fn" may follow e4m3; or nothing.
std::optional<FormatId> recorded_format(std::string_view name);

/// The name's cast, or nothing. Names are a format, for E8M0 a direction ("rp", "rz"), and "sat",
/// "satfinite" or "nosat"; a format that always clamps stands alone. `rp_nosat` is of E8M0.
std::optional<RecordedCast> recorded_cast(std::string_view name);

}  // namespace shardcheck
