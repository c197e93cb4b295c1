#include "core/recipe/sharded.h"

#include <algorithm>
#include <bit>
#include <map>

#include "core/assert.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"

namespace shardcheck::recipe {
namespace {

WeightPlan plan_weight(const ShardedCall& call, const ShardedWeight& weight) {
  WeightPlan plan{
      .recipes = {call.recipe, call.recipe}, .measured_type = call.model_type, .cast_type = call.model_type};
  for (const auto& ranges : weight.owned) plan.parts.push_back({ranges, ranges, ranges});
  return plan;
}

/// Positions of weights in batches: weights of one group, in order.
std::vector<std::vector<std::int32_t>> batches_of(const ShardedCall& call) {
  std::map<std::size_t, std::vector<std::int32_t>> groups;
  for (std::size_t i = 0; i < call.weights.size(); ++i)
    groups[call.weights[i].owned.size()].push_back(static_cast<std::int32_t>(i));
  std::vector<std::vector<std::int32_t>> batches;
  for (const auto& [ranks, weights] : groups) {
    const auto most = call.weights_at_once == 0 ? std::ssize(weights) : call.weights_at_once;
    for (std::int64_t i = 0; i < std::ssize(weights); ++i) {
      // A batch is a run of neighbours, so that a step names it by first and count.
      const bool goes_on = i % most != 0 && weights[static_cast<std::size_t>(i)] == batches.back().back() + 1;
      if (!goes_on) batches.emplace_back();
      batches.back().push_back(weights[static_cast<std::size_t>(i)]);
    }
  }
  return batches;
}

/// What every rank of the group does, in order. A given scale casts first and measures for a later step.
std::vector<Step> steps_of(const Recipe& recipe, const Step& shared) {
  using enum Act;
  const auto order = recipe.formula == ScaleFormula::given
                         ? std::vector{scale, cast, measure, reduce, gather, derive}
                         : std::vector{measure, reduce, scale, cast, gather, derive};
  std::vector<Step> steps;
  for (const Act act : order) {
    if (act == derive && !is_derivable(recipe.second_copy)) continue;
    Step step = shared;
    step.act = act;
    if (act != reduce) step.length = 0;
    steps.push_back(step);
  }
  return steps;
}

}  // namespace

std::int32_t ShardedCall::ranks() const {
  std::size_t most = 0;
  for (const ShardedWeight& weight : weights) most = std::max(most, weight.owned.size());
  return static_cast<std::int32_t>(most);
}

std::string_view name_of(Act act) {
  constexpr std::string_view names[] = {"measure", "reduce", "scale", "cast", "gather", "derive"};
  return names[static_cast<std::size_t>(act)];
}

std::span<const Direction> quantised_directions(const Recipe& recipe) {
  static constexpr Direction kBoth[] = {Direction::row, Direction::column};
  return std::span(kBoth).first(is_derivable(recipe.second_copy) ? 1 : 2);
}

std::int64_t amax_count(const Recipe& recipe, Extent extent) {
  std::int64_t count = 0;
  for (const Direction direction : quantised_directions(recipe))
    count += blocks_of(recipe.block, direction, extent).count();
  return count;
}

ShardedPlan plan_sharded(const ShardedCall& call) {
  SC_ASSERT(call.recipe != nullptr && call.weights_at_once >= 0, "a call has a recipe and a batch size");
  ShardedPlan plan;
  for (const ShardedWeight& weight : call.weights) plan.weights.push_back(plan_weight(call, weight));
  plan.schedules.resize(static_cast<std::size_t>(call.ranks()));
  const bool propagates = call.recipe->amax_nan == AmaxNan::propagate;
  for (const auto& batch : batches_of(call)) {
    const auto ranks =
        static_cast<std::int32_t>(call.weights[static_cast<std::size_t>(batch.front())].owned.size());
    Step shared{.first = batch.front(),
                .count = static_cast<std::int32_t>(batch.size()),
                .group = ranks,
                .wire = propagates ? AmaxWire::bits_max : AmaxWire::f32_max};
    for (const std::int32_t i : batch) {
      WeightPlan& weight = plan.weights[static_cast<std::size_t>(i)];
      weight.packed_at = weight.read_at = shared.length;
      shared.length += amax_count(*call.recipe, call.weights[static_cast<std::size_t>(i)].extent);
    }
    const std::vector<Step> steps = steps_of(*call.recipe, shared);
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      auto& schedule = plan.schedules[static_cast<std::size_t>(rank)];
      schedule.insert(schedule.end(), steps.begin(), steps.end());
    }
  }
  return plan;
}

std::vector<float> rounded_to(std::optional<FormatId> type, std::span<const float> values) {
  std::vector<float> rounded(values.begin(), values.end());
  if (!type) return rounded;
  const Format& format = format_of(*type);
  for (float& value : rounded)
    value = decode(format, encode(format, kIeee, std::bit_cast<std::uint32_t>(value)));
  return rounded;
}

}  // namespace shardcheck::recipe
