// Scales: from the largest magnitude of a block to the scale that its elements meet and to the one that is
// stored (fp8 3.0 to 3.5). Every formula is written out with its roundings, because two formulas that are
// equal on paper give different bytes (fp8 2.8). Read next: quantize.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/recipe/recipe.h"

namespace shardcheck::recipe {

/// What one block is quantised by.
struct BlockScale {
  std::uint32_t stored = 0;  ///< bits of the stored scale in the recipe's scale format
  float factor = 1;          ///< the element meets this: x * factor, or x / factor (ScaleUse)
  float inverse = 1;         ///< decode(code) * inverse gives the value back; without the tensor's scale
  bool operator==(const BlockScale&) const = default;
};

struct Scales {
  std::vector<BlockScale> blocks;  ///< row-major over the grid
  float tensor_factor = 1;         ///< S_enc of two_level, else 1
  float tensor_inverse = 1;        ///< S_dec = RN(1 / S_enc)
};

/// What scales are made from.
struct ScaleInputs {
  std::span<const float> amaxes;  ///< one a block
  float tensor_amax = 0;          ///< of two_level
  float given = 1;                ///< the scale of ScaleFormula::given
};

/// scale_from_amax of fp8 3.0: RN(fmax / amax), `value_for_infinity` where that overflows, 1 for an amax of
/// 0, infinity or NaN. Exactness class: exact (F20).
struct QuotientRule {
  float largest = 448;  ///< fmax
  float epsilon = 0;
  PowerOfTwo power_of_two = PowerOfTwo::no;
  float value_for_infinity = 0;
};
float scale_from_amax(const QuotientRule& rule, float amax);

/// The second level of a recipe; both 1 where it has none.
struct TensorScale {
  float factor = 1;   ///< S_enc
  float inverse = 1;  ///< S_dec = RN(1 / S_enc)
};
TensorScale tensor_scale_of(const Recipe& recipe, FormatId elements, float tensor_amax);

/// The scale of one block. The formula is not `given`. Exactness class: exact.
struct BlockInputs {
  TensorScale tensor;
  float amax = 0;
};
BlockScale block_scale(const Recipe& recipe, FormatId elements, const BlockInputs& inputs);

/// The scale that an E8M0 code stands for: factor 2^(127 - c) and its inverse, exact (F17); NaN for 0xFF.
BlockScale power_of_two_scale(std::uint32_t code);

/// The scales of a recipe for elements of `elements`. Exactness class: exact. Source: fp8 3.0 to 3.5.
Scales scales_of(const Recipe& recipe, FormatId elements, const ScaleInputs& inputs);

/// Largest finite number of a format.
float largest_of(FormatId format);

}  // namespace shardcheck::recipe
