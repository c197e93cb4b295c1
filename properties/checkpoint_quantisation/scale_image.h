// Which scales a recipe can store, and which codes the largest element of a block can have under each of them
// (F20, F21, F23), found from the recipe's own formula: the amaxes that give a scale are an interval, because
// no formula lets a larger amax have a smaller inverse. Next: sweep.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/recipe/scales.h"

namespace shardcheck::verify {

/// Magnitude codes of the largest element.
struct LargestCodes {
  std::uint8_t low = 0, high = 0;
  bool may_be_zero = false;  ///< a block of zeros has this scale
  bool may_be_full = false;  ///< a block with an infinity has this scale, and the largest code
};

class ScaleImage {
 public:
  /// Of a recipe whose formula is not `given`, for elements of a format.
  ScaleImage(const recipe::Recipe& recipe, FormatId elements, recipe::TensorScale tensor);

  /// By a stored scale; nothing where no amax gives it. Exactness class: exact. From any thread.
  std::optional<LargestCodes> of(std::uint32_t stored) const;

  bool holds(const LargestCodes& codes, std::uint32_t code) const {
    return (code >= codes.low && code <= codes.high) || (codes.may_be_zero && code == 0) ||
           (codes.may_be_full && code == full_);
  }

 private:
  recipe::BlockScale scale(float amax) const;
  std::uint8_t code_of(float amax) const;
  std::optional<LargestCodes> searched(std::uint32_t stored) const;
  std::optional<LargestCodes> near(std::uint32_t stored) const;

  const recipe::Recipe& recipe_;
  FormatId elements_;
  recipe::TensorScale tensor_;
  std::uint32_t full_;
  std::uint32_t of_zero_, of_infinity_, of_smallest_, of_largest_;  ///< scales of amaxes at the ends
  /// By code or by exponent, where there are at most 256 scales.
  std::vector<std::optional<LargestCodes>> table_;
};

}  // namespace shardcheck::verify
