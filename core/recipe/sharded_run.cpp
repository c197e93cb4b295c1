#include "core/recipe/sharded_run.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/assert.h"

namespace shardcheck::recipe {
namespace {

using Codes = std::vector<std::uint8_t>;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// The larger of two amaxes as it travels. Magnitudes are not negative, so bits order them.
float larger_on(AmaxWire wire, float a, float b) {
  if (wire == AmaxWire::f32_max) return larger(AmaxNan::drop, std::isnan(a) ? 0 : a, b);
  return std::bit_cast<float>(std::max(std::bit_cast<std::uint32_t>(a), std::bit_cast<std::uint32_t>(b)));
}

class Run {
 public:
  Run(const ShardedCall& call, const ShardedPlan& plan)
      : call_(call), plan_(plan), next_(plan.schedules.size()) {
    outcome_.ranks.resize(plan.schedules.size());
    for (auto& weights : outcome_.ranks) weights.resize(call.weights.size());
    for (std::size_t i = 0; i < call.weights.size(); ++i) {
      measured_.push_back(rounded_to(plan.weights[i].measured_type, call.weights[i].master));
      cast_.push_back(rounded_to(plan.weights[i].cast_type, call.weights[i].master));
    }
    for (auto& weights : outcome_.ranks) {
      for (std::size_t i = 0; i < weights.size(); ++i) prepare(weights[i], i);
    }
  }

  ShardedOutcome run() {
    while (advance_locally(), !is_done()) {
      const std::size_t rank = ready_rank();
      if (rank == next_.size()) {
        outcome_.stuck_at = next_;
        break;
      }
      collect(plan_.schedules[rank][next_[rank]]);
    }
    return std::move(outcome_);
  }

 private:
  /// The ranks of a collective that exist.
  std::vector<std::size_t> members_of(const Step& step) const {
    std::vector<std::size_t> members;
    for (std::int32_t rank = step.first_rank; rank < step.first_rank + step.group; ++rank) {
      if (at(rank) < next_.size()) members.push_back(at(rank));
    }
    return members;
  }
  static bool is_collective(Act act) { return act == Act::reduce || act == Act::gather; }
  const Recipe& recipe() const { return *call_.recipe; }
  std::span<const Direction> directions() const { return quantised_directions(recipe()); }
  WeightOutcome& of(std::size_t rank, std::int32_t weight) { return outcome_.ranks[rank][at(weight)]; }

  void prepare(WeightOutcome& weight, std::size_t i) const {
    const Extent extent = call_.weights[i].extent;
    weight.own_amaxes.assign(at(amax_count(recipe(), extent)), 0);
    weight.amaxes = weight.own_amaxes;
    for (const Direction direction : directions()) {
      weight.cast_codes.emplace_back(at(extent.numel()), kCanary);
      // Nobody has a scale yet: 1 everywhere.
      Scales ones;
      ones.blocks.resize(at(blocks_of(recipe().block, direction, extent).count()));
      weight.scales.push_back(std::move(ones));
      weight.copies.emplace_back();
    }
    weight.copies.resize(2);
  }

  bool is_done() const {
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      if (next_[rank] < plan_.schedules[rank].size()) return false;
    }
    return true;
  }

  void advance_locally() {
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      const auto& schedule = plan_.schedules[rank];
      while (next_[rank] < schedule.size() && !is_collective(schedule[next_[rank]].act))
        execute(rank, schedule[next_[rank]++]);
    }
  }

  /// A rank whose next collective has all of its ranks waiting for the same; ranks() when there is none.
  std::size_t ready_rank() const {
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      if (next_[rank] == plan_.schedules[rank].size()) continue;
      const Step& step = plan_.schedules[rank][next_[rank]];
      const auto waits = [&](std::size_t other) {
        return next_[other] < plan_.schedules[other].size() && plan_.schedules[other][next_[other]] == step;
      };
      const auto all = members_of(step);
      const bool is_member =
          step.first_rank <= static_cast<std::int32_t>(rank) && std::ssize(all) == step.group;
      if (is_member && rank <= all.back() && std::ranges::all_of(all, waits)) return rank;
    }
    return next_.size();
  }

  void collect(const Step& step) {
    if (step.act == Act::reduce) reduce(step);
    if (step.act == Act::gather) gather(step);
    for (const std::size_t rank : members_of(step)) ++next_[rank];
  }

  void execute(std::size_t rank, const Step& step) {
    for (std::int32_t i = step.first; i < step.first + step.count; ++i) {
      if (step.act == Act::measure) measure(rank, i);
      if (step.act == Act::scale) make_scales(rank, i);
      if (step.act == Act::cast) cast(rank, i);
      if (step.act == Act::derive) derive(rank, i);
    }
  }

  void measure(std::size_t rank, std::int32_t i) {
    WeightOutcome& weight = of(rank, i);
    std::span<float> rest(weight.own_amaxes);
    for (const Direction direction : directions()) {
      const Blocks blocks = blocks_of(recipe().block, direction, call_.weights[at(i)].extent);
      for (const layout::Range& range : plan_.weights[at(i)].parts[rank].measured)
        take_amaxes(blocks, recipe().amax_nan, piece(measured_[at(i)], range),
                    rest.first(at(blocks.count())));
      rest = rest.subspan(at(blocks.count()));
    }
  }

  static Piece piece(const std::vector<float>& values, const layout::Range& range) {
    return {range.lo, std::span(values).subspan(at(range.lo), at(range.numel()))};
  }

  void reduce(const Step& step) {
    std::vector<float> packed(at(step.length));
    for (const std::size_t rank : members_of(step)) {
      for (std::int32_t i = step.first; i < step.first + step.count; ++i) {
        const auto& own = of(rank, i).own_amaxes;
        for (std::size_t k = 0; k < own.size(); ++k) {
          float& into = packed[at(plan_.weights[at(i)].packed_at) + k];
          into = larger_on(step.wire, into, own[k]);
        }
      }
    }
    for (const std::size_t rank : members_of(step)) {
      for (std::int32_t i = step.first; i < step.first + step.count; ++i) {
        auto& amaxes = of(rank, i).amaxes;
        std::copy_n(packed.begin() + plan_.weights[at(i)].read_at, amaxes.size(), amaxes.begin());
      }
    }
  }

  void make_scales(std::size_t rank, std::int32_t i) {
    WeightOutcome& weight = of(rank, i);
    std::span<const float> rest(weight.amaxes);
    for (std::size_t d = 0; d < directions().size(); ++d) {
      const Extent extent = call_.weights[at(i)].extent;
      const auto count = at(blocks_of(recipe().block, directions()[d], extent).count());
      const auto amaxes = rest.first(count);
      weight.scales[d] = scales_of(
          *plan_.weights[at(i)].recipes[d], call_.elements,
          {.amaxes = amaxes, .tensor_amax = tensor_amax_of(recipe(), amaxes), .given = call_.given_scale});
      rest = rest.subspan(count);
    }
  }

  void cast(std::size_t rank, std::int32_t i) {
    WeightOutcome& weight = of(rank, i);
    for (std::size_t d = 0; d < directions().size(); ++d) {
      const Blocks blocks = blocks_of(recipe().block, directions()[d], call_.weights[at(i)].extent);
      for (const layout::Range& range : plan_.weights[at(i)].parts[rank].cast) {
        cast_piece(recipe(), call_.elements, blocks, weight.scales[d], piece(cast_[at(i)], range),
                   std::span(weight.cast_codes[d]).subspan(at(range.lo), at(range.numel())));
      }
    }
  }

  void gather(const Step& step) {
    for (std::int32_t i = step.first; i < step.first + step.count; ++i) {
      for (std::size_t d = 0; d < directions().size(); ++d) {
        Codes gathered(at(call_.weights[at(i)].extent.numel()), kCanary);
        for (const std::size_t rank : members_of(step)) {
          for (const layout::Range& range : plan_.weights[at(i)].parts[rank].sent)
            std::copy_n(of(rank, i).cast_codes[d].begin() + range.lo, range.numel(),
                        gathered.begin() + range.lo);
        }
        for (const std::size_t rank : members_of(step)) receive(rank, i, d, gathered);
      }
    }
  }

  void receive(std::size_t rank, std::int32_t i, std::size_t d, const Codes& gathered) {
    WeightOutcome& weight = of(rank, i);
    const Blocks blocks = blocks_of(recipe().block, directions()[d], call_.weights[at(i)].extent);
    const Wanted wanted{.direction = directions()[d], .elements = call_.elements};
    weight.copies[d] = stored_copy(recipe(), wanted, blocks, weight.scales[d], gathered);
  }

  void derive(std::size_t rank, std::int32_t i) {
    WeightOutcome& weight = of(rank, i);
    // Before the gather there is nothing to derive from but what the rank holds itself.
    QuantizedCopy first = weight.copies[0];
    if (first.codes.empty()) {
      const Blocks blocks = blocks_of(recipe().block, Direction::row, call_.weights[at(i)].extent);
      first = stored_copy(recipe(), {.direction = Direction::row, .elements = call_.elements}, blocks,
                          weight.scales[0], weight.cast_codes[0]);
    }
    weight.copies[1] = second_copy_of(recipe(), first);
  }

  const ShardedCall& call_;
  const ShardedPlan& plan_;
  std::vector<std::size_t> next_;
  std::vector<std::vector<float>> measured_, cast_;  ///< masters, rounded as the plan says
  ShardedOutcome outcome_;
};

}  // namespace

ShardedOutcome run_sharded(const ShardedCall& call, const ShardedPlan& plan) {
  SC_ASSERT(plan.weights.size() == call.weights.size(), "a plan is of another call");
  return Run(call, plan).run();
}

}  // namespace shardcheck::recipe
