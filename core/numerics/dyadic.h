// A finite number as integer times power of two, the common coin of encoders and exact sums.
#pragma once

#include <cstdint>

namespace shardcheck {

/// (-1)^negative * (significand + tail) * 2^exponent, where tail is 0, or (when `inexact`) somewhere in (0,
/// 1). Zero is significand 0 and not inexact.
struct Dyadic {
  bool negative = false;
  std::uint64_t significand = 0;
  int exponent = 0;
  bool inexact = false;
};

}  // namespace shardcheck
