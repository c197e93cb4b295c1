// LocalPlan: the part of a plan that one process executes. Every process owns a contiguous block of the
// plan's ranks and counts them from 0; op i of the local plan is op i of the plan on the owned ranks alone,
// or nothing. Groups of a collective that lie in one process stay there; the others are crossing.h's.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"

namespace shardcheck::cluster {

/// The ranks [first, last).
struct Block {
  std::int32_t first = 0, last = 0;

  bool holds(Rank rank) const { return first <= rank.value && rank.value < last; }
  std::int32_t count() const { return last - first; }
  bool operator==(const Block&) const = default;
};

/// Which process of how many.
struct Seat {
  int process = 0, processes = 1;
};

/// The ranks of a process: blocks as equal as can be, in order, as ranks lie on GPUs (fold_order.h). Some are
/// empty when there are fewer ranks than processes.
Block block_of(std::int32_t ranks, Seat seat);

struct LocalPlan {
  Plan plan;  ///< of the owned ranks
  Block owned;
  std::vector<int> process_of;  ///< a rank of the whole plan
  std::vector<bool> crosses;    ///< an op: some group of it lies in several processes
  std::uint64_t digest = 0;     ///< of the whole plan, equal on all processes that run the same

  Rank local(Rank rank) const { return Rank{rank.value - owned.first}; }
  /// True when the ranks, a group of a collective, lie in several processes.
  bool is_crossing(std::span<const Rank> group) const;
};

/// Tells two plans apart: processes that run the same have the same.
std::uint64_t digest_of(const Plan& plan);

LocalPlan local_plan_of(const Plan& plan, Seat seat);

}  // namespace shardcheck::cluster
