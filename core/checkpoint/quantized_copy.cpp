#include "core/checkpoint/quantized_copy.h"

#include <fmt/format.h>

#include "core/assert.h"
#include "core/integers.h"

namespace shardcheck::checkpoint {
namespace {

using namespace recipe;

constexpr std::string_view kColumns = "_columnwise";

bool is_one_scale(const Recipe& recipe) {
  return recipe.block == BlockShape{};
}

DType scale_type(const Recipe& recipe) {
  switch (recipe.scale_format) {
    case FormatId::e8m0: return DType::u8;
    case FormatId::ue4m3: return DType::e4m3;
    default: return DType::f32;
  }
}

}  // namespace

std::string_view name_of(ScaleShape shape) {
  return shape == ScaleShape::grid ? "grid" : "padded";
}

CopyView view_of(const Recipe& recipe, Direction copy) {
  if (copy == Direction::row) return {Direction::row, Turned::no, recipe.row_scales};
  if (recipe.second_copy == SecondCopy::requantised_in_place)
    return {Direction::column, Turned::no, recipe.column_scales};
  // The grid of the transposed source is the transpose of the grid that the storage speaks of.
  ScaleStorage storage = recipe.column_scales;
  storage.transposed = !storage.transposed;
  return {Direction::row, Turned::yes, storage};
}

Blocks blocks_of(const Recipe& recipe, const CopyView& view, Extent extent) {
  return recipe::blocks_of(recipe, view.direction, extent);
}

CopyNames names_of(const Recipe& recipe, Direction copy, const std::string& name) {
  const std::string codes = copy == Direction::row ? name : name + std::string(kColumns);
  const bool has_inverse_name =
      recipe.scale_format == FormatId::f32 && recipe.block.along != 0 && recipe.block.across != 0;
  CopyNames names{codes, codes + (has_inverse_name ? "_scale_inv" : "_scale"), ""};
  if (recipe.formula == ScaleFormula::two_level) names.tensor_scale = codes + "_scale_2";
  return names;
}

std::optional<std::string> row_copy_of(std::string_view codes) {
  if (!codes.ends_with(kColumns)) return std::nullopt;
  return std::string(codes.substr(0, codes.size() - kColumns.size()));
}

std::vector<std::int64_t> scale_shape(const Recipe& recipe, const CopyView& view, Extent extent,
                                      ScaleShape shape) {
  if (is_one_scale(recipe)) return {};
  const Extent grid = blocks_of(recipe, view, extent).grid;
  if (shape == ScaleShape::grid) return {grid.rows, grid.columns};
  const Extent turned = view.storage.transposed ? grid.transposed() : grid;
  return {round_up(turned.rows, view.storage.row_multiple),
          round_up(turned.columns, view.storage.column_multiple)};
}

std::vector<NewTensor> tensors_of(const Recipe& recipe, Direction copy, const std::string& name,
                                  Extent extent, ScaleShape shape) {
  const CopyNames names = names_of(recipe, copy, name);
  const CopyView view = view_of(recipe, copy);
  const Extent lies = view.turned == Turned::yes ? extent.transposed() : extent;
  const bool is_packed = recipe.forward == FormatId::e2m1;
  std::vector<NewTensor> tensors = {
      {.name = names.codes,
       .dtype = is_packed ? DType::u8 : DType::e4m3,
       .shape = {lies.rows, is_packed ? div_ceil(lies.columns, 2) : lies.columns}},
      {.name = names.scales, .dtype = scale_type(recipe), .shape = scale_shape(recipe, view, lies, shape)}};
  if (!names.tensor_scale.empty())
    tensors.push_back({.name = names.tensor_scale, .dtype = DType::f32, .shape = {}});
  return tensors;
}

std::vector<std::byte> scale_bytes(const Recipe& recipe, const CopyView& view, ScaleShape shape,
                                   const ScaleGrid& grid) {
  const ScaleStorage storage = shape == ScaleShape::grid ? ScaleStorage{} : view.storage;
  return scale_plane(recipe.scale_format, storage, grid).bytes;
}

std::string reason_against(const Recipe& recipe, const TensorEntry& tensor) {
  const auto type = tensor.type.dtype;
  if (type != DType::f32 && type != DType::bf16 && type != DType::f16)
    return fmt::format("its type is {}; recipes take F32, BF16 and F16", tensor.type.name);
  if (tensor.shape.size() != 2)
    return fmt::format("it has {} dimension{}; recipes take matrices", tensor.shape.size(),
                       tensor.shape.size() == 1 ? "" : "s");
  if (tensor.numel == 0) return "it has no elements";
  if (tensor.shape[0] % recipe.multiples.rows != 0)
    return fmt::format("its {} rows are no multiple of {}", tensor.shape[0], recipe.multiples.rows);
  if (tensor.shape[1] % recipe.multiples.columns != 0)
    return fmt::format("its {} columns are no multiple of {}", tensor.shape[1], recipe.multiples.columns);
  return "";
}

}  // namespace shardcheck::checkpoint
