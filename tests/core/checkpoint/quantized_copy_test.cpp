// Names and shapes are those of public checkpoints and of fp8 3.3 to 3.5; a copy in a file is the copy that
// quantize() makes.
#include "core/checkpoint/quantized_copy.h"

#include <gtest/gtest.h>

#include "core/recipe/catalogue.h"

namespace shardcheck::checkpoint {
namespace {

using namespace recipe;
using Shape = std::vector<std::int64_t>;

const Recipe& named(std::string_view name) {
  return *find_recipe(name);
}

Shape shape_of(std::string_view name, Direction copy, ScaleShape shape) {
  return tensors_of(named(name), copy, "w", {384, 640}, shape)[1].shape;
}

TEST(QuantizedCopy, NamesOfPublicCheckpoints) {
  const auto tensors = tensors_of(named("dg-128x128"), Direction::row, "model.layers.0.mlp.down_proj.weight",
                                  {256, 640}, ScaleShape::grid);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].dtype, DType::e4m3);
  EXPECT_EQ(tensors[1].name, "model.layers.0.mlp.down_proj.weight_scale_inv");
  EXPECT_EQ(tensors[1].dtype, DType::f32);
  EXPECT_EQ(tensors[1].shape, (Shape{2, 5}));
  EXPECT_EQ(names_of(named("te-mxfp8"), Direction::row, "w").scales, "w_scale");
  EXPECT_EQ(names_of(named("te-current"), Direction::row, "w").scales, "w_scale");
  EXPECT_EQ(names_of(named("te-nvfp4"), Direction::column, "w").tensor_scale, "w_columnwise_scale_2");
  EXPECT_EQ(row_copy_of("w_columnwise"), "w");
  EXPECT_EQ(row_copy_of("w"), std::nullopt);
}

TEST(QuantizedCopy, ShapesOfTheSpecification) {
  EXPECT_EQ(shape_of("te-block-128x128", Direction::row, ScaleShape::padded), (Shape{3, 8}));
  EXPECT_EQ(shape_of("te-block-128x128", Direction::column, ScaleShape::padded), (Shape{5, 4}));
  EXPECT_EQ(shape_of("te-block-128x128", Direction::column, ScaleShape::grid), (Shape{5, 3}));
  EXPECT_EQ(shape_of("te-block-1x128", Direction::row, ScaleShape::padded), (Shape{5, 384}));
  EXPECT_EQ(shape_of("te-block-1x128", Direction::row, ScaleShape::grid), (Shape{384, 5}));
  EXPECT_EQ(shape_of("te-block-1x128", Direction::column, ScaleShape::padded), (Shape{3, 640}));
  EXPECT_EQ(shape_of("te-mxfp8", Direction::row, ScaleShape::padded), (Shape{384, 20}));
  EXPECT_EQ(shape_of("te-mxfp8", Direction::column, ScaleShape::grid), (Shape{12, 640}));
  EXPECT_EQ(shape_of("te-current", Direction::row, ScaleShape::padded), Shape{});
}

TEST(QuantizedCopy, WhatARecipeDoesNotTake) {
  const auto reason = [](std::string_view type, Shape shape) {
    TensorEntry entry{.name = "w", .type = *find_element_type(type), .shape = std::move(shape), .numel = 1};
    for (const std::int64_t extent : entry.shape) entry.numel *= extent;
    return reason_against(named("te-block-128x128"), entry);
  };
  EXPECT_EQ(reason("BF16", {256, 128}), "");
  EXPECT_EQ(reason("I64", {256, 128}), "its type is I64; recipes take F32, BF16 and F16");
  EXPECT_EQ(reason("F32", {256}), "it has 1 dimension; recipes take matrices");
  EXPECT_EQ(reason("F32", {2, 2, 2}), "it has 3 dimensions; recipes take matrices");
  EXPECT_EQ(reason("F16", {576, 128}), "its 576 rows are no multiple of 128");
  EXPECT_EQ(reason("F16", {128, 100}), "its 100 columns are no multiple of 128");
  EXPECT_EQ(reason("F16", {0, 128}), "it has no elements");
}

}  // namespace
}  // namespace shardcheck::checkpoint
