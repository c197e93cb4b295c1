#include "properties/generate/random_fp8.h"

#include <algorithm>
#include <string_view>

#include "core/integers.h"
#include "core/recipe/catalogue.h"

namespace shardcheck {
namespace {

constexpr Weighted<std::string_view> kSharded[] = {
    {"te-current", 20},    {"te-current-pow2", 10}, {"te-delayed", 26},          {"te-mxfp8", 26},
    {"te-mxfp8-32x32", 8}, {"te-block-128x128", 6}, {"te-block-128x128-fp32", 4}};
/// Recipes whose amax propagates NaN, for owners that reduce no amax.
constexpr Weighted<std::string_view> kWhole[] = {
    {"te-current", 14},    {"te-delayed", 20},        {"te-mxfp8", 16},      {"te-block-128x128", 4},
    {"ao-tensorwise", 10}, {"ao-tensorwise-pow2", 6}, {"ao-mxfp8-rceil", 8}, {"ao-mxfp8-floor", 6},
    {"ao-mxfp8-ceil", 4},  {"ao-mxfp8-even", 6},      {"dg-128x128", 3},     {"dg-128x128-pow2", 3}};

const recipe::Recipe& recipe_of(const Scenario& s) {
  return *recipe::find_recipe(s.fp8->recipe);
}

/// Some steps, ascending.
std::vector<std::int32_t> draw_steps(Draw& draw, const Scenario& s, std::int32_t percent) {
  std::vector<std::int32_t> steps;
  for (std::int32_t step = 0; step < s.steps; ++step) {
    if (draw.chance(percent)) steps.push_back(step);
  }
  return steps;
}

/// A model that the recipe keeps cheap: large blocks allow few of them.
void fit_model(Draw& draw, Scenario& s) {
  const std::int64_t block = std::max(recipe_of(s).multiples.rows, recipe_of(s).multiples.columns);
  for (ScenarioParameter& p : s.parameters) {
    if (p.shape.size() != 2) continue;
    for (std::int64_t& side : p.shape) {
      if (block == 1) side = std::max<std::int64_t>(side, 1);
      if (block == 32) side = 32 * draw.pick({1, 1, 1, 2, 3});
      if (block == 128) side = 128;
    }
    if (block == 128 && draw.chance(20)) p.shape[draw.chance(50)] = 256;
  }
  const bool any = std::ranges::any_of(s.parameters, [](const ScenarioParameter& p) {
    return p.trainable && p.shape.size() == 2 && p.numel() > 0;
  });
  if (any) return;
  const std::int64_t side = std::max<std::int64_t>(block, 3);
  s.parameters.front().shape = {side, side};
  s.parameters.front().trainable = true;
}

}  // namespace

void draw_fp8(Draw& draw, Scenario& s) {
  constexpr Weighted<std::int32_t> histories[] = {{1, 25}, {2, 25}, {3, 25}, {4, 25}};
  constexpr Weighted<std::int32_t> steps[] = {{1, 10}, {2, 45}, {3, 35}, {4, 10}};
  s.steps = draw.pick(steps);
  s.fp8.emplace();
  s.fp8->recipe = shards_gradient(s.strategy) ? draw.pick(kSharded) : draw.pick(kWhole);
  const recipe::Recipe& named = recipe_of(s);
  if (named.formula == recipe::ScaleFormula::given) s.fp8->history = draw.pick(histories);
  if (draw.chance(25)) s.fp8->masters = Masters::from_bytes;
  if (recipe::is_derivable(named.second_copy) && draw.chance(45)) s.fp8->transposes = Transposes::keep;
  if (has_reshard(s)) s.reshard = static_cast<Reshard>(draw.below(3));
  s.fp8->recompute = draw.chance(30);
  s.fp8->skipped_steps = draw_steps(draw, s, 15);
  s.fp8->evaluations = draw_steps(draw, s, 25);
  if (draw.chance(30)) s.fp8->reload_after = draw.below(s.steps);
  fit_model(draw, s);
}

void round_up_shapes(Scenario& s) {
  if (!s.fp8) return;
  const recipe::Multiples multiples = recipe_of(s).multiples;
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    if (!has_fp8_weight(s, p)) continue;
    auto& shape = s.parameters[static_cast<std::size_t>(p)].shape;
    shape = {round_up(shape[0], multiples.rows), round_up(shape[1], multiples.columns)};
  }
}

}  // namespace shardcheck
