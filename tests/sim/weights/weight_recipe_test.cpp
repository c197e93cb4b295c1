// What a planner knows of a recipe: copies, products and partners of activations (fp8 3.6, 3.7).
#include "sim/weights/weight_recipe.h"

#include <gtest/gtest.h>

#include "core/recipe/catalogue.h"

namespace shardcheck {
namespace {

WeightRecipe of(const std::string& name) {
  Fp8Training fp8;
  fp8.recipe = name;
  return weight_recipe_of(fp8);
}

std::string_view activations(const char* name) {
  return activations_of(*recipe::find_recipe(name)).name;
}

TEST(WeightRecipe, PerTensorSharesItsBytesAndItsGradientsAreE5M2) {
  const WeightRecipe recipe = of("te-current");
  EXPECT_EQ(recipe.quantised.size(), 1u);
  EXPECT_TRUE(recipe.derives_column);
  EXPECT_FALSE(recipe.is_delayed || recipe.decodes);
  EXPECT_EQ(recipe.weight_scales, ScaleKind::tensor);
  EXPECT_EQ(recipe.gradient_codes, DType::e5m2);
  EXPECT_EQ(recipe.largest, 448);
  EXPECT_EQ(recipe.largest_gradient, 57344);
  EXPECT_TRUE(of("te-delayed").is_delayed);
}

TEST(WeightRecipe, MxQuantisesBothDirectionsAndDecodesThem) {
  const WeightRecipe recipe = of("te-mxfp8");
  EXPECT_EQ(recipe.quantised.size(), 2u);
  EXPECT_FALSE(recipe.derives_column);
  EXPECT_TRUE(recipe.decodes);
  EXPECT_EQ(recipe.weight_scales, ScaleKind::none);
}

TEST(WeightRecipe, TilesMeetLines) {
  EXPECT_EQ(activations("te-block-128x128"), "te-block-1x128");
  EXPECT_EQ(activations("te-block-128x128-fp32"), "te-block-1x128-fp32");
  EXPECT_EQ(activations("dg-128x128-pow2"), "dg-1x128-pow2");
  EXPECT_EQ(activations("te-mxfp8-32x32"), "te-mxfp8");
  EXPECT_EQ(activations("ao-mxfp8-floor"), "ao-mxfp8-floor");
  EXPECT_EQ(activations("te-delayed"), "te-delayed");
  const WeightRecipe recipe = of("te-block-128x128");
  EXPECT_EQ(recipe.weight_scales, ScaleKind::block128x128);
  EXPECT_EQ(recipe.activation_scales, ScaleKind::vector128);
}

TEST(WeightRecipe, PlanesArePaddedAsTheSystemStoresThem) {
  const auto plane = [](const char* name, recipe::Direction direction) {
    const PlaneSize size = plane_size(of(name).weights, direction, {256, 640});
    return std::pair(size.dtype, size.numel);
  };
  using recipe::Direction;
  EXPECT_EQ(plane("te-block-128x128", Direction::row), std::pair(DType::f32, std::int64_t{2 * 8}));
  EXPECT_EQ(plane("te-block-128x128", Direction::column), std::pair(DType::f32, std::int64_t{5 * 4}));
  EXPECT_EQ(plane("te-mxfp8", Direction::row), std::pair(DType::u8, std::int64_t{256 * 20}));
  EXPECT_EQ(plane("te-mxfp8", Direction::column), std::pair(DType::u8, std::int64_t{8 * 640}));
  EXPECT_EQ(plane("te-current", Direction::row), std::pair(DType::f32, std::int64_t{1}));
  EXPECT_EQ(block_count(of("te-mxfp8").weights, Direction::column, {256, 640}), 8 * 640);
}

}  // namespace
}  // namespace shardcheck
