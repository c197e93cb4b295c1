#include "properties/checkpoint_quantisation/pairs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/integers.h"
#include "core/recipe/catalogue.h"

namespace shardcheck::verify {
namespace {

using namespace recipe;
using checkpoint::ScaleShape;
using checkpoint::StoredTensor;
using checkpoint::TensorFiles;
using Shape = std::vector<std::int64_t>;

std::optional<StoredTensor> scales_of_codes(const TensorFiles& files, const std::string& codes) {
  for (const char* end : {"_scale_inv", "_scale"}) {
    if (const StoredTensor* found = files.find(codes + end)) return *found;
  }
  return std::nullopt;
}

bool is_fp8(const StoredTensor& tensor) {
  return tensor.entry->type.dtype == DType::e4m3 || tensor.entry->type.dtype == DType::e5m2;
}

bool is_fp4(const TensorFiles& files, const StoredTensor& tensor) {
  if (tensor.entry->type.dtype != DType::u8) return false;
  const StoredTensor* scales = files.find(tensor.entry->name + "_scale");
  return scales != nullptr && scales->entry->type.dtype == DType::e4m3;
}

/// Names of all tensors that are the scales of another.
std::set<std::string> scale_names(const TensorFiles& files) {
  std::set<std::string> names;
  for (const StoredTensor& tensor : files.tensors()) {
    if (!is_fp8(tensor) && !is_fp4(files, tensor)) continue;
    for (const char* end : {"_scale_inv", "_scale", "_scale_2"}) {
      if (files.find(tensor.entry->name + end) != nullptr) names.insert(tensor.entry->name + end);
    }
  }
  return names;
}

/// Extents of 1 say nothing: [7168, 1] and [7168] are one shape, and so are [1] and [].
Shape squeezed(const Shape& shape) {
  Shape kept;
  std::ranges::copy_if(shape, std::back_inserter(kept), [](std::int64_t extent) { return extent != 1; });
  return kept;
}

bool is_scale_type(FormatId format, const checkpoint::ElementType& type) {
  if (format == FormatId::f32) return type.dtype == DType::f32;
  if (format == FormatId::ue4m3) return type.dtype == DType::e4m3;
  return type.dtype == DType::u8 || type.name == "F8_E8M0";
}

std::string_view scale_type_name(FormatId format) {
  return format == FormatId::f32 ? "F32" : format == FormatId::ue4m3 ? "F8_E4M3" : "U8 or F8_E8M0";
}

bool is_element_type(const Recipe& recipe, FormatId elements) {
  return (recipe.forward == FormatId::e2m1) == (elements == FormatId::e2m1);
}

std::string shape_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace

std::string Pair::source_name() const {
  return checkpoint::row_copy_of(name).value_or(name);
}

Direction Pair::copy() const {
  return checkpoint::row_copy_of(name) ? Direction::column : Direction::row;
}

Contents contents_of(const TensorFiles& files,
                     const std::function<bool(const std::string& name)>& is_chosen) {
  Contents contents;
  const std::set<std::string> scales = scale_names(files);
  for (const StoredTensor& tensor : files.tensors()) {
    const std::string& name = tensor.entry->name;
    if (scales.contains(name) || !is_chosen(checkpoint::row_copy_of(name).value_or(name))) continue;
    const bool packed = is_fp4(files, tensor);
    if (!packed && !is_fp8(tensor)) {
      contents.others.push_back(tensor);
      continue;
    }
    const auto found = scales_of_codes(files, name);
    const Shape& shape = tensor.entry->shape;
    if (!found) {
      contents.unpaired.push_back(
          {tensor, fmt::format("codes of {} without scales: neither {}_scale_inv nor {}_scale is there",
                               tensor.entry->type.name, name, name)});
    } else if (shape.size() != 2) {
      contents.unpaired.push_back(
          {tensor, fmt::format("it has {} dimensions; recipes take matrices", shape.size()), false});
    } else {
      Pair pair{.name = name, .codes = tensor, .scales = *found};
      pair.elements = packed                                    ? FormatId::e2m1
                      : tensor.entry->type.dtype == DType::e5m2 ? FormatId::e5m2
                                                                : FormatId::e4m3;
      pair.extent = {shape[0], packed ? 2 * shape[1] : shape[1]};
      if (const StoredTensor* second = files.find(name + "_scale_2")) pair.tensor_scale = *second;
      if (files.metadata(std::string(checkpoint::kScalesKey)) == name_of(ScaleShape::padded))
        pair.likely_shape = ScaleShape::padded;
      contents.pairs.push_back(std::move(pair));
    }
  }
  return contents;
}

std::optional<Candidate> candidate_of(const Recipe& recipe, const Pair& pair) {
  const bool has_tensor_scale = pair.tensor_scale && pair.tensor_scale->entry->numel == 1 &&
                                pair.tensor_scale->entry->type.dtype == DType::f32;
  if (recipe.formula == ScaleFormula::given || !is_element_type(recipe, pair.elements) ||
      !is_scale_type(recipe.scale_format, pair.scales.entry->type) ||
      (recipe.formula == ScaleFormula::two_level && !has_tensor_scale))
    return std::nullopt;
  const checkpoint::CopyView view = checkpoint::view_of(recipe, pair.copy());
  const bool is_grid = pair.likely_shape == ScaleShape::grid;
  for (const ScaleShape shape : {pair.likely_shape, is_grid ? ScaleShape::padded : ScaleShape::grid}) {
    const Shape wanted = checkpoint::scale_shape(recipe, view, pair.extent, shape);
    if (squeezed(wanted) == squeezed(pair.scales.entry->shape)) return Candidate{&recipe, view, shape};
  }
  return std::nullopt;
}

std::vector<Candidate> candidates_of(const Pair& pair) {
  std::vector<Candidate> all, named;
  for (const Recipe& recipe : recipes()) {
    const auto candidate = candidate_of(recipe, pair);
    if (!candidate) continue;
    all.push_back(*candidate);
    const auto names = checkpoint::names_of(recipe, pair.copy(), pair.source_name());
    if (names.scales == pair.scales.entry->name) named.push_back(*candidate);
  }
  return named.empty() ? all : named;
}

bool is_source_of(const Candidate& candidate, const Pair& pair, const StoredTensor& source) {
  const auto type = source.entry->type.dtype;
  if (type != DType::f32 && type != DType::bf16 && type != DType::f16) return false;
  const bool is_turned = candidate.view.turned == checkpoint::Turned::yes;
  const Extent wanted = is_turned ? pair.extent.transposed() : pair.extent;
  return source.entry->shape == Shape{wanted.rows, wanted.columns};
}

std::string mismatch_of(const Recipe& recipe, const Pair& pair) {
  if (recipe.formula == ScaleFormula::given)
    return fmt::format("the scale of {} comes from earlier training steps, which no file of weights holds",
                       recipe.name);
  if (!is_element_type(recipe, pair.elements))
    return fmt::format("its codes are {}; those of {} are {}", format_of(pair.elements).name, recipe.name,
                       format_of(recipe.forward).name);
  if (recipe.formula == ScaleFormula::two_level && !candidate_of(recipe, pair) &&
      (!pair.tensor_scale || pair.tensor_scale->entry->numel != 1))
    return fmt::format("{} asks for {}_scale_2, one F32 number", recipe.name, pair.name);
  const checkpoint::TensorEntry& scales = *pair.scales.entry;
  const checkpoint::CopyView view = checkpoint::view_of(recipe, pair.copy());
  const Shape grid = checkpoint::scale_shape(recipe, view, pair.extent, ScaleShape::grid);
  const Shape padded = checkpoint::scale_shape(recipe, view, pair.extent, ScaleShape::padded);
  std::string text =
      fmt::format("its scales {} are {} of shape {}; {} has, for {} x {} codes, {} of shape {}", scales.name,
                  scales.type.name, shape_text(scales.shape), recipe.name, pair.extent.rows,
                  pair.extent.columns, scale_type_name(recipe.scale_format), shape_text(grid));
  if (padded != grid) text += fmt::format(", or {} where products read them", shape_text(padded));
  if (Shape(grid.rbegin(), grid.rend()) == scales.shape) text += "; this is the grid transposed (F33)";
  return text;
}

std::string mismatch_of_all(const Pair& pair) {
  const checkpoint::TensorEntry& scales = *pair.scales.entry;
  const std::int64_t rows = pair.extent.rows, columns = pair.extent.columns;
  return fmt::format(
      "its scales {} are {} of shape {}, which no recipe has for {} x {} codes of {}; F32 of [{}, {}] are "
      "scales "
      "of 128 x 128 blocks, [{}, {}] of 1 x 128, U8 of [{}, {}] of 1 x 32",
      scales.name, scales.type.name, shape_text(scales.shape), rows, columns, format_of(pair.elements).name,
      div_ceil(rows, 128), div_ceil(columns, 128), rows, div_ceil(columns, 128), rows, div_ceil(columns, 32));
}

}  // namespace shardcheck::verify
