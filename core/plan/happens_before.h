// Happens-before between whole ops: an op begins on all of its ranks at one moment and is done on all of them
// at another, as a backend that is given op by op executes it. The closure of the order of each stream and of
// an event's record before what follows a wait for it. What sets up at the begin of a plan is done before all
// else, and storage that comes later is there for whoever is given it: both are calls of the host. races.h
// asks the same of every rank by itself. Next: explore.h.
#pragma once

#include <vector>

#include "core/plan/plan.h"

namespace shardcheck {

class HappensBefore {
 public:
  /// Time and memory: ops times ranks.
  explicit HappensBefore(const Plan& plan);

  /// True when every schedule runs `first`, the earlier in the plan, before `second`.
  bool orders(OpIndex first, OpIndex second) const {
    return known(second, chain_of_[static_cast<std::size_t>(first.value)]) >= first.value;
  }
  /// The last op of a stream of a rank that every schedule runs before `op`, or is `op`; -1: none.
  std::int32_t last_before(OpIndex op, Rank rank, Stream stream) const {
    return known(op, rank.value * kStreams + static_cast<std::int32_t>(stream));
  }
  /// The ops that must be done before `op` begins, closest ones only; some more than once.
  const std::vector<std::int32_t>& before(OpIndex op) const {
    return before_[static_cast<std::size_t>(op.value)];
  }

 private:
  std::int32_t known(OpIndex op, std::int32_t chain) const {
    return clocks_[static_cast<std::size_t>(op.value) * chains_ + static_cast<std::size_t>(chain)];
  }

  std::size_t chains_;                  // streams of all ranks
  std::vector<std::int32_t> clocks_;    // an op, a chain: the last op of the chain that it knows of
  std::vector<std::int32_t> chain_of_;  // an op: one that it lies on
  std::vector<std::vector<std::int32_t>> before_;
};

}  // namespace shardcheck
