// Whole rows to amaxes and codes at the speed of memory, by any recipe. Invariant: equal to take_amaxes() and
// cast_piece() on every input, NaN payloads included; those are the readable reference, this is what streams
// files. Read next: strips.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/numerics/fast_cast.h"
#include "core/recipe/quantize.h"

namespace shardcheck::recipe {

/// Casts to one format by one recipe, prepared.
class FastQuantizer {
 public:
  FastQuantizer(const Recipe& recipe, FormatId elements);

  /// As take_amaxes() of the whole matrix: amaxes[b] := the larger of it and of block b. Exact.
  void take_amaxes(const Blocks& blocks, std::span<const float> values, std::span<float> amaxes) const;

  /// As scales_of() for a recipe of one level: one scale a block. Exactness class: exact.
  std::vector<BlockScale> scales(std::span<const float> amaxes) const;

  /// As cast_piece() of the whole matrix, one scale a block. Exactness class: exact.
  void cast(const Blocks& blocks, std::span<const BlockScale> scales, std::span<const float> values,
            std::span<std::uint8_t> codes) const;

 private:
  Recipe recipe_;
  FormatId elements_;
  FastCast cast_;
  std::vector<BlockScale> by_code_;  ///< of E8M0 scales
};

/// largest[b] := the larger of it and of (code & mask) over block b. With a mask that clears the sign, NaN
/// codes of E4M3 and E5M2 are larger than all numbers. Exact.
void take_largest_codes(const Blocks& blocks, std::uint8_t mask, std::span<const std::uint8_t> codes,
                        std::span<std::uint8_t> largest);

/// Whether every value is finite.
bool all_finite(std::span<const float> values);

}  // namespace shardcheck::recipe
