#include "properties/scale_law/scale_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/recipe/catalogue.h"

namespace shardcheck {
namespace {

constexpr std::int64_t kSlackRows = 4;

std::int64_t draw_extent(Draw& draw, std::int64_t block) {
  const std::int64_t edge = draw.pick({block, std::int64_t{1}, std::int64_t{1}, 2 * block});
  return std::max<std::int64_t>(1, edge + draw.pick<std::int64_t>({-1, 0, 1, 4, 20}));
}

/// fp32 numbers whose products with codes stay normal.
float draw_scale(Draw& draw) {
  const float mantissa = draw.chance(30) ? 1.0f : 1.0f + static_cast<float>(draw.word() >> 9) * 0x1p-23f;
  return std::ldexp(mantissa, static_cast<int>(draw.below(120)) - 60);
}

}  // namespace

ScaleCase random_scale_case(Draw& draw) {
  const auto recipes = recipe::recipes();
  const recipe::Recipe& drawn = recipes[static_cast<std::size_t>(draw.below(std::ssize(recipes)))];
  ScaleCase c{.recipe = std::string(drawn.name)};
  c.rows = draw_extent(draw, drawn.block.across);
  c.columns = draw_extent(draw, drawn.block.along);
  constexpr std::int64_t kMostDrawn = 768;
  if (c.rows > kMostDrawn / c.columns) c.rows = draw.pick<std::int64_t>({1, 2, 3});
  c.numbers = static_cast<MasterFamily>(draw.below(kMasterFamilies));
  c.gradient = draw.chance(20);
  c.cut = draw.below(c.rows * c.columns + 1);
  c.scale = draw_scale(draw);
  c.code = draw.chance(10) ? draw.pick({0, 1, 253, 254}) : draw.below(255);
  const auto extent = [&] { return draw.pick<std::int64_t>({1, 3, 4, 5, 127, 128, 129, 640, 2880}); };
  c.stored_rows = extent();
  c.stored_columns = extent();
  c.seed = draw.word();
  return c;
}

const recipe::Recipe& recipe_of(const ScaleCase& c) {
  return *recipe::find_recipe(c.recipe);
}

FormatId elements_of(const ScaleCase& c) {
  return c.gradient ? recipe_of(c).gradient : recipe_of(c).forward;
}

PaddedMatrix::PaddedMatrix(recipe::Extent extent, std::vector<float> values, float behind)
    : extent_(extent), values_(std::move(values)) {
  values_.resize(values_.size() + static_cast<std::size_t>(kSlackRows * extent.columns), behind);
}

recipe::Matrix PaddedMatrix::matrix() const {
  return {extent_, std::span(values_).first(static_cast<std::size_t>(extent_.numel()))};
}

PaddedMatrix matrix_of(const ScaleCase& c) {
  QuantisationCase whole{.recipe = c.recipe};
  whole.weights = {{.rows = c.rows, .columns = c.columns}};
  whole.masters = c.numbers;
  whole.gradient = c.gradient;
  whole.seed = c.seed;
  return {{c.rows, c.columns}, std::move(call_of(whole).weights[0].master), 1e4f};
}

std::string describe(const ScaleCase& c) {
  std::string text =
      fmt::format("{} x {} by {}, numbers {}, cut at {}; scale {}, E8M0 code {}; {} x {} stored; seed {}",
                  c.rows, c.columns, c.recipe, name_of(c.numbers), c.cut, c.scale, c.code, c.stored_rows,
                  c.stored_columns, c.seed);
  if (c.gradient) text += ", elements of gradients";
  if (!c.fault.empty()) text += fmt::format(", with fault {} switched on", c.fault);
  return text;
}

}  // namespace shardcheck
