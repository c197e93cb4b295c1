// Symmetry of a plan's calls, found without running it: per communicator every rank must call the same
// collectives in the same order, and the ranks together must get through all of them (wgrad W30). A plan
// without an Enqueue is symmetric by its form: a Communicate is called by all of its ranks. Next:
// core/contract/rank_symmetry.h turns what is found into findings.
#pragma once

#include <vector>

#include "core/plan/communicators.h"

namespace shardcheck {

/// A stream that never gets past an op: a call whose peers do not come, or a wait for an event that is never
/// recorded.
struct Stuck {
  Rank rank;
  Stream stream{};
  OpIndex op;
  bool operator==(const Stuck&) const = default;
};

struct Symmetry {
  std::vector<Mismatch> mismatches;  ///< of every communicator: the first that mixes, and the one that hangs
  std::vector<Stuck> stuck;  ///< ascending by rank and stream; empty when every stream gets to its end
  std::vector<Stuck> cycle;  ///< where no call hangs of itself: each of them waits for the next, the last for
                             ///< the first
  bool holds() const { return mismatches.empty() && stuck.empty(); }
};

/// A stream runs its ops in order, a call completes when all ranks of its communicator have come to their
/// call of the same number, and calls of one communicator on several streams of a rank complete in the order
/// of the plan. Exactness class: exact. Time and memory: linear in ops times ranks.
Symmetry symmetry_of(const Plan& plan);

}  // namespace shardcheck
