#include "properties/generate/random_model.h"

#include <algorithm>
#include <string>
#include <utility>

namespace shardcheck {
namespace {

/// Sizes: one element, fewer than ranks, odd, beside powers of two, and some that spread over all ranks.
constexpr Weighted<std::int64_t> kSizes[] = {{1, 18}, {2, 16}, {3, 18}, {4, 8},  {5, 12}, {7, 10},
                                             {8, 8},  {9, 6},  {16, 5}, {17, 5}, {33, 2}, {64, 1}};

enum class Uses : std::uint8_t {
  none,
  fused,
  unfused,
  other,
  fused_fused,
  fused_unfused,
  unfused_fused,
  unfused_unfused,
  fused_other,
  other_fused,
  three_fused,
  three_mixed,
  unflagged,
  unflagged_mixed,
};

constexpr Weighted<Uses> kUses[] = {
    {Uses::none, 5},        {Uses::fused, 46},         {Uses::unfused, 10},      {Uses::other, 3},
    {Uses::fused_fused, 8}, {Uses::fused_unfused, 6},  {Uses::unfused_fused, 6}, {Uses::unfused_unfused, 3},
    {Uses::fused_other, 2}, {Uses::other_fused, 2},    {Uses::three_fused, 5},   {Uses::three_mixed, 4},
    {Uses::unflagged, 4},   {Uses::unflagged_mixed, 4}};
constexpr Weighted<Uses> kMixedUses[] = {{Uses::fused, 15},         {Uses::fused_unfused, 30},
                                         {Uses::unfused_fused, 30}, {Uses::three_mixed, 20},
                                         {Uses::fused_other, 5},    {Uses::unflagged_mixed, 8}};
constexpr Weighted<Uses> kRepeatedUses[] = {
    {Uses::fused, 15},        {Uses::fused_fused, 30},  {Uses::three_fused, 25},
    {Uses::fused_unfused, 6}, {Uses::unfused_fused, 6}, {Uses::unfused_unfused, 8},
    {Uses::three_mixed, 6},   {Uses::fused_other, 2},   {Uses::other_fused, 2}};
/// Today's protocols are sound for little else than one use.
constexpr Weighted<Uses> kTodaysUses[] = {
    {Uses::none, 3},        {Uses::fused, 66},        {Uses::unfused, 10},      {Uses::other, 3},
    {Uses::fused_fused, 6}, {Uses::fused_unfused, 4}, {Uses::unfused_fused, 3}, {Uses::fused_other, 2},
    {Uses::other_fused, 2}, {Uses::three_fused, 1},   {Uses::unflagged, 3},     {Uses::unflagged_mixed, 2}};

Uses draw_uses(Draw& draw, Focus focus) {
  switch (focus) {
    case Focus::mixed_uses: return draw.pick(kMixedUses);
    case Focus::repeated_uses: return draw.pick(kRepeatedUses);
    case Focus::today: return draw.pick(kTodaysUses);
    case Focus::silence: return draw.chance(12) ? Uses::none : draw.pick(kUses);
    default: return draw.pick(kUses);
  }
}

std::vector<Producer> producers_of(Draw& draw, Uses uses) {
  constexpr Producer f = Producer::fused, u = Producer::unfused, o = Producer::other, n = Producer::unflagged;
  switch (uses) {
    case Uses::none: return {};
    case Uses::fused: return {f};
    case Uses::unfused: return {u};
    case Uses::other: return {o};
    case Uses::fused_fused: return {f, f};
    case Uses::fused_unfused: return {f, u};
    case Uses::unfused_fused: return {u, f};
    case Uses::unfused_unfused: return {u, u};
    case Uses::fused_other: return {f, o};
    case Uses::other_fused: return {o, f};
    case Uses::three_fused: return {f, f, f};
    case Uses::three_mixed: return {draw.pick({f, u, o}), draw.pick({f, u}), draw.pick({f, u})};
    case Uses::unflagged: return {n};
    case Uses::unflagged_mixed: {
      std::vector<Producer> mixed = {n, draw.pick({f, u, o, n})};
      if (draw.chance(50)) std::swap(mixed[0], mixed[1]);
      return mixed;
    }
  }
  return {};
}

std::vector<std::int64_t> draw_shape(Draw& draw) {
  if (draw.chance(18)) return {draw.chance(4) ? 0 : draw.pick(kSizes)};
  std::vector<std::int64_t> shape = {draw.pick(kSizes), draw.pick(kSizes)};
  if (draw.chance(3)) shape[0] = 0;  // FSDP refuses rows without columns
  return shape;
}

ScenarioParameter draw_parameter(Draw& draw, Focus focus, const Scenario& scenario) {
  constexpr Weighted<DType> types[] = {{DType::bf16, 60}, {DType::f32, 25}, {DType::f16, 15}};
  ScenarioParameter parameter;
  parameter.name = "w" + std::to_string(scenario.parameters.size());
  parameter.shape = draw_shape(draw);
  parameter.dtype = draw.pick(types);
  parameter.trainable = !draw.chance(focus == Focus::frozen ? 45 : 8);
  parameter.expert = draw.chance(scenario.expert_parallel > 1 ? 55 : 5);
  if (!scenario.parameters.empty()) parameter.unit = scenario.parameters.back().unit + draw.below(2);
  return parameter;
}

void draw_parameters(Draw& draw, Focus focus, Scenario& scenario) {
  constexpr Weighted<std::int32_t> counts[] = {{1, 28}, {2, 36}, {3, 22}, {4, 14}};
  constexpr Weighted<std::int32_t> many[] = {{2, 20}, {3, 30}, {4, 30}, {5, 20}};
  const bool wants_many = focus == Focus::overlap || focus == Focus::frozen;
  const std::int32_t count = wants_many ? draw.pick(many) : draw.pick(counts);
  for (std::int32_t p = 0; p < count; ++p)
    scenario.parameters.push_back(draw_parameter(draw, focus, scenario));
}

void draw_use_list(Draw& draw, Focus focus, Scenario& scenario) {
  for (std::size_t p = 0; p < scenario.parameters.size(); ++p) {
    const bool vector = scenario.parameters[p].shape.size() == 1;
    for (const Producer producer : producers_of(draw, draw_uses(draw, focus))) {
      ScenarioUse use{static_cast<std::int32_t>(p), vector ? Producer::unfused : producer, -1};
      if (draw.chance(10)) use.unit = draw.below(scenario.parameters.back().unit + 1);
      scenario.uses.push_back(use);
    }
  }
  // A tied embedding is used at both ends, a repeated layer between others.
  if (!draw.chance(50)) return;
  for (std::int64_t i = std::ssize(scenario.uses) - 1; i > 0; --i) {
    const auto other = static_cast<std::size_t>(draw.below(i + 1));
    std::swap(scenario.uses[static_cast<std::size_t>(i)], scenario.uses[other]);
  }
}

}  // namespace

void draw_model(Draw& draw, Focus focus, Scenario& scenario) {
  draw_parameters(draw, focus, scenario);
  draw_use_list(draw, focus, scenario);
}

}  // namespace shardcheck
