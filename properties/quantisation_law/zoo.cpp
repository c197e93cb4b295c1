#include "properties/quantisation_law/zoo.h"

#include <algorithm>

#include "core/recipe/catalogue.h"

namespace shardcheck {
namespace {

using namespace recipe;
using Ranges = std::vector<layout::Range>;

// Cases: as few ranks and elements as show the fault.

QuantisationCase two_halves(std::string_view name, MasterFamily masters) {
  QuantisationCase c{.recipe = std::string(name), .world = 2};
  c.weights = {{.rows = 2, .columns = 4, .cuts = {3}}};
  c.masters = masters;
  c.seed = 1;
  return c;
}
QuantisationCase outlier_on_one() {
  return two_halves("te-current", MasterFamily::outlier);
}
QuantisationCase four_ranks() {
  QuantisationCase c = outlier_on_one();
  c.world = 4;
  c.weights[0].cuts = {2, 4, 6};
  return c;
}
QuantisationCase one_is_empty() {
  QuantisationCase c = two_halves("te-current", MasterFamily::log_uniform);
  c.weights[0].cuts = {8};
  return c;
}
QuantisationCase two_weights() {
  QuantisationCase c = two_halves("te-current", MasterFamily::log_uniform);
  c.weights.push_back(c.weights[0]);
  return c;
}
QuantisationCase cut_tile() {
  QuantisationCase c = two_halves("te-block-128x128", MasterFamily::log_uniform);
  c.weights = {{.rows = 20, .columns = 4, .cuts = {21}}};
  return c;
}
QuantisationCase odd_fp4() {
  return two_halves("te-nvfp4-16x16", MasterFamily::log_uniform);
}
QuantisationCase power_of_two() {
  return two_halves("te-current-pow2", MasterFamily::log_uniform);
}
QuantisationCase mx_outlier() {
  return two_halves("te-mxfp8", MasterFamily::outlier);
}
QuantisationCase one_nan() {
  QuantisationCase c = two_halves("ao-tensorwise", MasterFamily::special);
  c.seed = 2;  // its special number is a NaN
  return c;
}
QuantisationCase above_midpoints() {
  QuantisationCase c = two_halves("te-current-pow2", MasterFamily::midpoints);
  c.weights = {{.rows = 4, .columns = 16, .cuts = {30}}};
  c.model_type = DType::bf16;
  return c;
}

// Corruptions.

Step* find(std::vector<Step>& schedule, Act act) {
  const auto found = std::ranges::find(schedule, act, &Step::act);
  return found == schedule.end() ? nullptr : &*found;
}

void reduce_alone(const ShardedCall&, ShardedPlan& plan) {
  for (std::size_t rank = 0; rank < plan.schedules.size(); ++rank) {
    Step* reduce = find(plan.schedules[rank], Act::reduce);
    if (reduce == nullptr) continue;
    reduce->first_rank = static_cast<std::int32_t>(rank);
    reduce->group = 1;
  }
}

void reduce_over_half(const ShardedCall&, ShardedPlan& plan) {
  const auto half = static_cast<std::int32_t>(plan.schedules.size()) / 2;
  for (std::int32_t rank = 0; rank < std::ssize(plan.schedules); ++rank) {
    Step* reduce = find(plan.schedules[static_cast<std::size_t>(rank)], Act::reduce);
    if (reduce == nullptr || half == 0) continue;
    reduce->first_rank = rank < half ? 0 : half;
    reduce->group = rank < half ? half : static_cast<std::int32_t>(plan.schedules.size()) - half;
  }
}

/// Ranks that own nothing of any weight.
std::vector<std::size_t> empty_ranks(const ShardedCall& call) {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(call.ranks()); ++rank) {
    if (std::ranges::all_of(call.weights, [&](const ShardedWeight& w) {
          return rank >= w.owned.size() || w.owned[rank].empty();
        }))
      ranks.push_back(rank);
  }
  return ranks;
}

void another_type_where_empty(const ShardedCall& call, ShardedPlan& plan) {
  for (const std::size_t rank : empty_ranks(call)) {
    if (Step* reduce = find(plan.schedules[rank], Act::reduce)) reduce->wire = AmaxWire::bits_max;
  }
}

void no_collective_where_empty(const ShardedCall& call, ShardedPlan& plan) {
  for (const std::size_t rank : empty_ranks(call))
    std::erase_if(plan.schedules[rank], [](const Step& step) { return step.act == Act::reduce; });
}

void flush_by_local_bytes(const ShardedCall&, ShardedPlan& plan) {
  auto& schedule = plan.schedules.back();
  for (std::size_t k = 0; k < schedule.size(); ++k) {
    if (schedule[k].act != Act::reduce || schedule[k].count < 2) continue;
    Step rest = schedule[k];
    schedule[k].count = 1;
    rest.first += 1;
    rest.count -= 1;
    schedule.insert(schedule.begin() + static_cast<std::ptrdiff_t>(k) + 1, rest);
    return;
  }
}

/// Whole strips of 16 rows of a tile, from the first to the last that the rank owns an element of (fp8 4.4).
Ranges strips(const ShardedWeight& weight, const Ranges& owned) {
  if (owned.empty()) return {};
  const std::int64_t strip = 16 * weight.extent.columns;
  const std::int64_t lo = owned.front().lo / strip * strip;
  const std::int64_t hi = std::min((owned.back().hi + strip - 1) / strip * strip, weight.extent.numel());
  return {{lo, hi}};
}

void write_strips(const ShardedCall& call, ShardedPlan& plan) {
  for (std::size_t i = 0; i < call.weights.size(); ++i) {
    for (std::size_t rank = 0; rank < plan.weights[i].parts.size(); ++rank)
      plan.weights[i].parts[rank].cast = strips(call.weights[i], call.weights[i].owned[rank]);
  }
}

void send_strips(const ShardedCall& call, ShardedPlan& plan) {
  for (std::size_t i = 0; i < call.weights.size(); ++i) {
    for (std::size_t rank = 0; rank < plan.weights[i].parts.size(); ++rank)
      plan.weights[i].parts[rank].sent = strips(call.weights[i], call.weights[i].owned[rank]);
  }
}

void whole_bytes_of_fp4(const ShardedCall&, ShardedPlan& plan) {
  for (WeightPlan& weight : plan.weights) {
    for (Part& part : weight.parts) {
      for (layout::Range& range : part.cast) range.lo -= range.lo % 2;
    }
  }
}

void exchange(std::vector<Step>& schedule, Act a, Act b) {
  Step *first = find(schedule, a), *second = find(schedule, b);
  if (first != nullptr && second != nullptr) std::swap(*first, *second);
}

void gather_before_cast(const ShardedCall&, ShardedPlan& plan) {
  for (auto& schedule : plan.schedules) exchange(schedule, Act::cast, Act::gather);
}

void derive_before_gather(const ShardedCall&, ShardedPlan& plan) {
  for (auto& schedule : plan.schedules) exchange(schedule, Act::gather, Act::derive);
}

/// An index type of 2 bits stands for one of 32.
void narrow_index(const ShardedCall&, ShardedPlan& plan) {
  constexpr std::int64_t kLimit = 4;
  for (WeightPlan& weight : plan.weights) {
    for (Part& part : weight.parts) {
      for (layout::Range& range : part.cast) range = {std::min(range.lo, kLimit), std::min(range.hi, kLimit)};
    }
  }
}

void power_of_two_ignored(const ShardedCall&, ShardedPlan& plan) {
  for (WeightPlan& weight : plan.weights) weight.recipes[0] = weight.recipes[1] = find_recipe("te-current");
}

void other_mode_for_columns(const ShardedCall&, ShardedPlan& plan) {
  for (WeightPlan& weight : plan.weights) weight.recipes[1] = find_recipe("ao-mxfp8-floor");
}

void nan_lost_on_the_wire(const ShardedCall&, ShardedPlan& plan) {
  for (auto& schedule : plan.schedules) {
    for (Step& step : schedule) step.wire = AmaxWire::f32_max;
  }
}

void cast_unrounded(const ShardedCall&, ShardedPlan& plan) {
  for (WeightPlan& weight : plan.weights) weight.cast_type.reset();
}

void measure_unrounded(const ShardedCall&, ShardedPlan& plan) {
  for (WeightPlan& weight : plan.weights) weight.measured_type.reset();
}

void neighbours_scale(const ShardedCall&, ShardedPlan& plan) {
  if (plan.weights.size() > 1) std::swap(plan.weights[0].read_at, plan.weights[1].read_at);
}

void measure_all_where_empty(const ShardedCall& call, ShardedPlan& plan) {
  for (const std::size_t rank : empty_ranks(call)) {
    for (std::size_t i = 0; i < plan.weights.size(); ++i) {
      if (rank < plan.weights[i].parts.size())
        plan.weights[i].parts[rank].measured = {{0, call.weights[i].extent.numel()}};
    }
  }
}

void no_scale_where_empty(const ShardedCall& call, ShardedPlan& plan) {
  for (const std::size_t rank : empty_ranks(call))
    std::erase_if(plan.schedules[rank], [](const Step& step) { return step.act == Act::scale; });
}

constexpr QuantisationFault kZoo[] = {
    {"Q28", "the amax is not reduced over the ranks that share the weight", "F41", outlier_on_one,
     reduce_alone},
    {"Q29", "the amax is reduced over half of the ranks that share the weight", "F48", four_ranks,
     reduce_over_half},
    {"Q30", "a rank that owns nothing takes another type for the amax buffer", "F45", one_is_empty,
     another_type_where_empty},
    {"Q31", "the loop skips empty pieces, and the reduction in it", "F43", one_is_empty,
     no_collective_where_empty},
    {"Q32", "a batch ends at a threshold of locally owned bytes", "F45", two_weights, flush_by_local_bytes},
    {"Q34", "the strip around the own piece is gathered", "F42", cut_tile, send_strips},
    {"Q34b", "the cast writes the strip around the own piece", "F42", cut_tile, write_strips},
    {"Q35", "a piece of FP4 that starts at an odd element writes its neighbour's half of the byte", "F42",
     odd_fp4, whole_bytes_of_fp4},
    {"Q36", "the gather runs before the cast", "F46", outlier_on_one, gather_before_cast},
    {"Q38", "the transpose is made before the gather", "F46", outlier_on_one, derive_before_gather},
    {"Q26", "elements past the limit of the index type are not quantised", "F40", outlier_on_one,
     narrow_index},
    {"Q55", "the power-of-two option is ignored where the weight is sharded", "F40", power_of_two,
     power_of_two_ignored},
    {"Q16", "the rounding of the scale is honoured in one direction only", "F40", mx_outlier,
     other_mode_for_columns},
    {"M1", "a NaN amax is lost by the reduction, although the recipe propagates it", "F44", one_nan,
     nan_lost_on_the_wire},
    {"M2", "masters are cast without the declared rounding to the model's type", "F47", above_midpoints,
     cast_unrounded},
    {"M3", "amaxes are of masters before the declared rounding", "F47", above_midpoints, measure_unrounded},
    {"M4", "a scale is read at its neighbour's place in the packed buffer", "F49", two_weights,
     neighbours_scale},
    {"M5", "a rank that owns nothing contributes the amax of what lies in its buffer", "F43", one_is_empty,
     measure_all_where_empty},
    {"M6", "a rank that owns nothing makes no scales", "F41", one_is_empty, no_scale_where_empty},
};

}  // namespace

std::span<const QuantisationFault> quantisation_zoo() {
  return kZoo;
}

const QuantisationFault* find_quantisation_fault(std::string_view id) {
  const auto found = std::ranges::find(kZoo, id, &QuantisationFault::id);
  return found == std::end(kZoo) ? nullptr : &*found;
}

QuantisationCase case_of(const QuantisationFault& fault) {
  QuantisationCase c = fault.smallest();
  c.fault = fault.id;
  return c;
}

}  // namespace shardcheck
