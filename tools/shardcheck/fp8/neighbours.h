// The two codes around a number and the exact point halfway between them.
#pragma once

#include <cstdint>
#include <optional>

#include "core/numerics/format.h"

namespace shardcheck::fp8 {

/// Magnitudes; a number between two codes has both, one beyond the largest has no code above, one below the
/// smallest power of two of E8M0 has none below.
struct Neighbours {
  std::optional<std::uint32_t> below, above;  ///< codes without sign; the same where the number has a code
  double value_below, value_above;            ///< "above" of the largest: what the grid would go on with
  double midpoint;

  bool is_exact() const { return below && above && *below == *above; }
};

/// Of the magnitude of a finite number, which is exact: every midpoint of these formats is a double.
Neighbours neighbours_of(const Format& format, double magnitude);

}  // namespace shardcheck::fp8
