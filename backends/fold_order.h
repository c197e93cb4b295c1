// The order in which a reduction adds when virtual ranks share GPUs: which rank lies on which GPU, and which
// sums are formed before others. Pure, so that the reference reproduces it. Read next: cpu/collectives.cpp
// and cuda/collectives.cpp, which follow it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/assert.h"
#include "core/types.h"

namespace shardcheck {

/// Ranks of a plan in contiguous blocks on GPUs: rank r lies on GPU floor(r * gpus / ranks).
struct Fold {
  std::int32_t ranks = 1;
  std::int32_t gpus = 1;

  int gpu_of(Rank rank) const {
    SC_ASSERT(rank.value >= 0 && rank.value < ranks, "the plan has no such rank");
    return static_cast<int>(std::int64_t{rank.value} * gpus / ranks);
  }
  /// The first rank at or above GPU `gpu`, which is the least r with r * gpus >= gpu * ranks.
  std::int32_t first_rank_of(int gpu) const {
    return static_cast<std::int32_t>((std::int64_t{gpu} * ranks + gpus - 1) / gpus);
  }
  std::int32_t ranks_on(int gpu) const { return first_rank_of(gpu + 1) - first_rank_of(gpu); }
  bool operator==(const Fold&) const = default;
};

/// In which order the addends of one reduction are added. Every addition is rounded to the element type.
enum class ReductionOrder : std::uint8_t {
  flat,      ///< ascending ranks: ((r0 + r1) + r2) + r3. The plan's own order, and that of one GPU
  two_gpus,  ///< ascending ranks on each GPU, then the two partial sums: (r0 + r1) + (r2 + r3)
  unknown,   ///< three GPUs or more: ascending on each GPU, then NCCL's order, which nobody promises
};

/// The addends of one partial sum, as positions in the list of ranks, in the order of the additions.
struct PartialSum {
  int gpu = 0;
  std::vector<std::size_t> positions;
};

/// The partial sums of a reduction over `ranks`, by ascending GPU; inside each, ascending ranks.
inline std::vector<PartialSum> partial_sums(const Fold& fold, std::span<const Rank> ranks) {
  std::vector<std::size_t> order(ranks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  std::vector<PartialSum> sums;
  for (const std::size_t position : order) {
    const int gpu = fold.gpu_of(ranks[position]);  // ascends with the rank
    if (sums.empty() || sums.back().gpu != gpu) sums.push_back({gpu, {}});
    sums.back().positions.push_back(position);
  }
  return sums;
}

/// What is promised about the order of a reduction over `ranks`. Two partial sums are one rounded addition,
/// and addition commutes, so NCCL has no choice there.
inline ReductionOrder reduction_order(const Fold& fold, std::span<const Rank> ranks) {
  const std::size_t sums = partial_sums(fold, ranks).size();
  if (sums <= 1) return ReductionOrder::flat;
  // With one rank a GPU, two partial sums are two addends: the flat order.
  if (sums == 2) return ranks.size() == 2 ? ReductionOrder::flat : ReductionOrder::two_gpus;
  return ReductionOrder::unknown;
}

/// Adds `addends` (one a rank, in the order of `ranks`) in the folded order; the partial sums by ascending
/// GPU. `add(sum, addend)` rounds as the element type does. A reference reproduces the GPUs with it wherever
/// reduction_order is not unknown.
template <class Value, class Add>
Value folded_sum(const Fold& fold, std::span<const Rank> ranks, std::span<const Value> addends, Add add) {
  SC_ASSERT(!ranks.empty() && ranks.size() == addends.size(), "a reduction needs an addend a rank");
  const std::vector<PartialSum> sums = partial_sums(fold, ranks);
  const auto partial = [&](const PartialSum& sum) {
    Value result = addends[sum.positions.front()];
    for (std::size_t i = 1; i < sum.positions.size(); ++i) result = add(result, addends[sum.positions[i]]);
    return result;
  };
  Value total = partial(sums.front());
  for (std::size_t i = 1; i < sums.size(); ++i) total = add(total, partial(sums[i]));
  return total;
}

}  // namespace shardcheck
