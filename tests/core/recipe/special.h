// The fp32 numbers that are no numbers: what amaxes and scales must not choke on.
#pragma once

#include <limits>

namespace shardcheck::recipe {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace shardcheck::recipe
