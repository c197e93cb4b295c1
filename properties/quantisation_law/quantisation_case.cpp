#include "properties/quantisation_law/quantisation_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/assert.h"
#include "core/layout/ownership.h"
#include "core/layout/registry.h"
#include "core/numerics/decode.h"
#include "core/numerics/philox.h"
#include "core/recipe/catalogue.h"

namespace shardcheck {
namespace {

using Ranges = std::vector<layout::Range>;

/// One master; `index` is global over the weight, so it does not depend on who owns it.
struct Masters {
  MasterFamily family;
  FormatId elements;
  std::uint64_t seed, weight;
  std::int64_t numel;

  std::array<std::uint32_t, 4> words(std::int64_t index) const {
    return philox(seed, weight, static_cast<std::uint64_t>(index));
  }
  /// 24 significant bits within `binades` below 2^top.
  float number(std::int64_t index, int top, int binades) const {
    const auto word = words(index);
    const float mantissa = 1.0f + static_cast<float>(word[0] % (1u << 23)) * 0x1p-23f;
    const int exponent = top - 1 - static_cast<int>(word[1] % static_cast<std::uint32_t>(binades));
    return std::ldexp(word[2] % 2 == 0 ? mantissa : -mantissa, exponent);
  }
  /// Where the one special number stands.
  bool is_chosen(std::int64_t index) const {
    return index == static_cast<std::int64_t>(words(-1)[0] % static_cast<std::uint64_t>(numel));
  }
  float midpoint(std::int64_t index) const {
    const Format& format = format_of(elements);
    const auto word = words(index);
    const std::uint32_t code = word[0] % format.max_code;
    const float middle = decode(format, code) / 2 + decode(format, code + 1) / 2;
    const float above = std::nextafter(middle, std::numeric_limits<float>::infinity());
    return word[2] % 2 == 0 ? above : -above;
  }
  float special(std::int64_t index) const {
    if (!is_chosen(index)) return number(index, 4, 8);
    const float infinity = std::numeric_limits<float>::infinity();
    const std::uint32_t kind = words(-1)[1] % 3;
    return kind == 0 ? std::numeric_limits<float>::quiet_NaN() : kind == 1 ? infinity : -infinity;
  }
  float operator()(std::int64_t index) const {
    switch (family) {
      case MasterFamily::log_uniform: return number(index, 12, 24);
      case MasterFamily::outlier: return is_chosen(index) ? 1000.5f : number(index, 0, 4);
      case MasterFamily::midpoints: return midpoint(index);
      case MasterFamily::equal: return words(index)[0] % 2 == 0 ? 3.0f : -3.0f;
      case MasterFamily::zeros:
        return words(index)[3] % 16 == 0 ? number(index, 4, 8) : words(index)[0] % 2 == 0 ? 0.0f : -0.0f;
      case MasterFamily::tiny: return number(index, -110, 20);
      case MasterFamily::special: return special(index);
    }
    assertion_failed("family", "an unnamed family of masters");
  }
};

/// [0, cuts[0]), [cuts[0], cuts[1]), ...
std::vector<Ranges> cut_at(const std::vector<std::int64_t>& cuts, std::int64_t numel) {
  std::vector<Ranges> owned;
  std::int64_t lo = 0;
  for (std::size_t rank = 0; rank <= cuts.size(); ++rank) {
    const std::int64_t hi = rank < cuts.size() ? cuts[rank] : numel;
    owned.emplace_back();
    if (hi > lo) owned.back().push_back({lo, hi});
    lo = hi;
  }
  return owned;
}

std::vector<layout::Parameter> parameters_of(const QuantisationCase& c) {
  std::vector<layout::Parameter> parameters;
  for (const WeightShape& weight : c.weights) {
    layout::Parameter& p = parameters.emplace_back();
    p.name = fmt::format("W{}", parameters.size() - 1);
    p.shape = {weight.rows, weight.columns};
    p.expert = weight.expert;
    p.shard_dim = weight.shard_dim;
    p.quantized = layout::Quantized::fp8;
  }
  return parameters;
}

/// What every rank of a weight's group holds. Where replicas hold the same, the first one counts as owner.
std::vector<Ranges> owned_in(const layout::Ownership& ownership, ParamId param) {
  const std::int64_t numel = ownership.numel(param);
  std::vector<Ranges> owned(static_cast<std::size_t>(ownership.buffer_of(param).world));
  std::int64_t held = 0;
  for (std::size_t rank = 0; rank < owned.size() && held < numel; ++rank) {
    std::vector<layout::Segment> segments;
    ownership.append_held(param, Rank{static_cast<std::int32_t>(rank)}, segments);
    for (const layout::Segment& segment : segments) {
      owned[rank].push_back({segment.p_lo, segment.p_hi});
      held += segment.p_hi - segment.p_lo;
    }
  }
  SC_ASSERT(held == numel, "a layout's ranks do not hold a weight once");
  return owned;
}

FormatId elements_of(const QuantisationCase& c) {
  const recipe::Recipe& recipe = *recipe::find_recipe(c.recipe);
  return c.gradient ? recipe.gradient : recipe.forward;
}

std::int64_t draw_extent(Draw& draw, std::int64_t block) {
  if (block == 0 || draw.chance(50)) return draw.pick<std::int64_t>({1, 2, 3, 5, 16, 17, 40});
  const std::int64_t edge = draw.pick({block, block, 2 * block});
  return edge + draw.pick<std::int64_t>({-1, 0, 0, 1, 3});
}

std::vector<std::int64_t> draw_cuts(Draw& draw, const WeightShape& weight, std::int32_t world) {
  const std::int64_t numel = weight.rows * weight.columns;
  std::vector<std::int64_t> cuts;
  for (std::int32_t i = 1; i < world; ++i) {
    // Anywhere; at a row; at an end, so that a piece is empty.
    const std::int64_t row = draw.below(weight.rows + 1) * weight.columns;
    cuts.push_back(draw.pick({draw.below(numel + 1), draw.below(numel + 1), row, std::int64_t{0}, numel}));
  }
  std::ranges::sort(cuts);
  return cuts;
}

}  // namespace

QuantisationCase random_quantisation_case(Draw& draw) {
  QuantisationCase c;
  const auto recipes = recipe::recipes();
  const recipe::Recipe& recipe = recipes[static_cast<std::size_t>(draw.below(std::ssize(recipes)))];
  c.recipe = recipe.name;
  c.world = draw.pick({1, 2, 2, 3, 4, 5, 8});
  if (draw.chance(25)) c.expert_world = draw.pick({1, 2, 3});
  if (draw.chance(50)) {
    const auto layouts = layout::named_layouts();
    c.layout = layouts[static_cast<std::size_t>(draw.below(std::ssize(layouts)))].name;
  }
  const std::int32_t count = draw.chance(60) ? 1 : 2 + draw.below(3);
  for (std::int32_t i = 0; i < count; ++i) {
    WeightShape weight;
    weight.rows = draw_extent(draw, recipe.block.across == 1 ? recipe.block.along : recipe.block.across);
    weight.columns = draw_extent(draw, recipe.block.along);
    constexpr std::int64_t kMost = 1 << 15;
    if (weight.rows * weight.columns > kMost) weight.rows = draw.pick<std::int64_t>({1, 2, 17});
    weight.expert = draw.chance(30);
    if (c.layout == "fsdp2-per-param" && draw.chance(50)) {
      weight.shard_dim = 1;
      weight.columns = (weight.columns + c.world - 1) / c.world * c.world;  // what dimension 1 must be
    }
    if (c.layout == "cuts")
      weight.cuts = draw_cuts(draw, weight, weight.expert && c.expert_world > 0 ? c.expert_world : c.world);
    c.weights.push_back(std::move(weight));
  }
  c.masters = static_cast<MasterFamily>(draw.below(kMasterFamilies));
  if (draw.chance(60)) c.model_type = draw.chance(80) ? DType::bf16 : DType::f16;
  c.weights_at_once = std::int64_t{draw.pick({0, 0, 1, 2})};
  c.gradient = draw.chance(20);
  c.seed = draw.word();
  return c;
}

recipe::ShardedCall call_of(const QuantisationCase& c) {
  recipe::ShardedCall call{.recipe = recipe::find_recipe(c.recipe),
                           .elements = elements_of(c),
                           .weights_at_once = c.weights_at_once,
                           .given_scale = 3.0f};
  SC_ASSERT(call.recipe != nullptr, "a case names a recipe");
  if (c.model_type) call.model_type = format_id_of(*c.model_type);
  std::optional<layout::Ownership> ownership;
  if (c.layout != "cuts") {
    const auto parameters = parameters_of(c);
    layout::Configuration configuration;
    if (c.expert_world > 0) configuration.expert_world = c.expert_world;
    ownership.emplace(layout::layout_named(c.layout, parameters, layout::mesh_of(c.world), configuration),
                      parameters);
  }
  for (std::size_t i = 0; i < c.weights.size(); ++i) {
    const WeightShape& shape = c.weights[i];
    recipe::ShardedWeight weight{.name = fmt::format("W{}", i), .extent = {shape.rows, shape.columns}};
    const std::int64_t numel = weight.extent.numel();
    const Masters masters{c.masters, call.elements, c.seed, i, std::max<std::int64_t>(numel, 1)};
    for (std::int64_t e = 0; e < numel; ++e) weight.master.push_back(masters(e));
    weight.owned =
        ownership ? owned_in(*ownership, ParamId{static_cast<std::int32_t>(i)}) : cut_at(shape.cuts, numel);
    call.weights.push_back(std::move(weight));
  }
  return call;
}

std::string_view name_of(MasterFamily family) {
  constexpr std::string_view names[] = {"log-uniform", "outlier", "midpoints", "equal",
                                        "zeros",       "tiny",    "special"};
  return names[static_cast<std::size_t>(family)];
}

std::string describe(const QuantisationCase& c) {
  std::string text =
      fmt::format("{} over {} {} of {}:", c.recipe, c.world, c.world == 1 ? "rank" : "ranks", c.layout);
  const char* separator = " ";
  for (const WeightShape& weight : c.weights) {
    text += fmt::format("{}{} x {}", separator, weight.rows, weight.columns);
    if (weight.expert) text += " expert";
    if (weight.shard_dim != 0) text += " by columns";
    for (std::size_t i = 0; i < weight.cuts.size(); ++i)
      text += fmt::format("{}{}", i == 0 ? " cut at " : " ", weight.cuts[i]);
    separator = ", ";
  }
  text += fmt::format("; masters {}", name_of(c.masters));
  if (c.model_type) text += fmt::format(" rounded to {}", name_of(*c.model_type));
  if (c.gradient) text += ", elements of gradients";
  if (c.expert_world > 0) text += fmt::format(", {} expert ranks", c.expert_world);
  if (c.weights_at_once > 0) text += fmt::format(", {} weights at once", c.weights_at_once);
  text += fmt::format(", seed {}", c.seed);
  if (!c.fault.empty()) text += fmt::format(", with fault {} switched on", c.fault);
  return text;
}

}  // namespace shardcheck
