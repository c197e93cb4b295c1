#include "sim/weights/weight_recipe.h"

#include "core/assert.h"
#include "core/recipe/catalogue.h"
#include "core/recipe/scales.h"
#include "core/recipe/sharded.h"

namespace shardcheck {
namespace {

using recipe::Direction;
using recipe::Recipe;

const Recipe& at(std::int8_t index) {
  return recipe::recipes()[static_cast<std::size_t>(index)];
}

std::int8_t index_of(const Recipe& named) {
  return static_cast<std::int8_t>(&named - recipe::recipes().data());
}

DType codes_of(FormatId format) {
  return format == FormatId::e5m2 ? DType::e5m2 : DType::e4m3;
}

}  // namespace

const Recipe& activations_of(const Recipe& weights) {
  if (weights.block.across <= 1) return weights;  // a whole tensor, or a line of a block
  // A tile shares its scale among rows; what it meets has a scale for each row (fp8 3.3, 3.4).
  for (const Recipe& other : recipe::recipes()) {
    const bool is_line = other.block.along == weights.block.along && other.block.across == 1;
    const bool same = other.formula == weights.formula && other.power_of_two == weights.power_of_two &&
                      other.amax_nan == weights.amax_nan && other.scale_format == weights.scale_format;
    if (is_line && same) return other;
  }
  SC_ASSERT(false, "tiles without a recipe of lines");
  return weights;
}

WeightRecipe weight_recipe_of(const Fp8Training& fp8) {
  const Recipe* weights = recipe::find_recipe(fp8.recipe);
  SC_ASSERT(weights != nullptr, "validate the scenario first");
  const Recipe& activations = activations_of(*weights);
  WeightRecipe made;
  made.weights = index_of(*weights);
  made.activations = index_of(activations);
  made.quantised = recipe::quantised_directions(*weights);
  made.derives_column = recipe::is_derivable(weights->second_copy);
  made.is_delayed = weights->formula == recipe::ScaleFormula::given;
  made.decodes = weights->scale_format != FormatId::f32;
  const bool is_tile = weights->block.across > 1;
  if (!made.decodes) {
    made.weight_scales = is_tile ? ScaleKind::block128x128 : ScaleKind::tensor;
    made.activation_scales = is_tile ? ScaleKind::vector128 : ScaleKind::tensor;
  }
  made.gradient_codes = codes_of(activations.gradient);
  made.largest = recipe::largest_of(weights->forward);
  made.largest_gradient = recipe::largest_of(activations.gradient);
  return made;
}

PlaneSize plane_size(std::int8_t recipe, Direction direction, recipe::Extent extent) {
  const Recipe& named = at(recipe);
  const recipe::Blocks blocks = recipe::blocks_of(named, direction, extent);
  const recipe::ScaleStorage& storage = recipe::storage_of(named, direction);
  const std::vector<std::uint32_t> zeros(static_cast<std::size_t>(blocks.count()));
  const recipe::ScalePlane plane = recipe::scale_plane(named.scale_format, storage, {blocks.grid, zeros});
  return {named.scale_format == FormatId::f32 ? DType::f32 : DType::u8, plane.stored.numel()};
}

std::int64_t block_count(std::int8_t recipe, Direction direction, recipe::Extent extent) {
  return recipe::blocks_of(at(recipe), direction, extent).count();
}

std::string_view name_of(Direction direction) {
  return direction == Direction::row ? "row" : "column";
}

}  // namespace shardcheck
