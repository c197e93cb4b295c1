// WeightRecipe: what a planner must know of an FP8 recipe to keep weights in it, as data (fp8 3.6, 3.7, 6.7):
// which copies are quantised and gathered, which one is derived, how a product takes them. The rest of
// sim/weights asks these fields and never names a recipe. Next: weight_store.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/op.h"
#include "core/recipe/quantize.h"
#include "core/tensor/dtype.h"
#include "sim/scenario/fp8.h"

namespace shardcheck {

struct WeightRecipe {
  std::int8_t weights = 0;      ///< of codes of weights: index in recipe::recipes()
  std::int8_t activations = 0;  ///< of what they are multiplied by
  /// Copies that are made from the source: both where one cannot be had from the other (F34).
  std::span<const recipe::Direction> quantised;
  bool derives_column = false;  ///< the column copy is a function of the row copy (F32, F33)
  bool is_delayed = false;      ///< scales come from amaxes of earlier steps
  bool decodes = false;         ///< this chip has no such product: both operands become bf16, exactly
  ScaleKind weight_scales = ScaleKind::none, activation_scales = ScaleKind::none;
  DType gradient_codes = DType::e4m3;  ///< of output gradients; all else is E4M3
  float largest = 448, largest_gradient = 448;
};

WeightRecipe weight_recipe_of(const Fp8Training& fp8);

/// The recipe of activations that goes with a recipe of weights.
const recipe::Recipe& activations_of(const recipe::Recipe& weights);

/// A plane of stored scales as a buffer holds it.
struct PlaneSize {
  DType dtype = DType::f32;
  std::int64_t numel = 0;
};
PlaneSize plane_size(std::int8_t recipe, recipe::Direction direction, recipe::Extent extent);

/// Blocks of a copy.
std::int64_t block_count(std::int8_t recipe, recipe::Direction direction, recipe::Extent extent);

/// "row", "column".
std::string_view name_of(recipe::Direction direction);

}  // namespace shardcheck
