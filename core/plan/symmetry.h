// Symmetry of a plan's calls, found without running it: per communicator every rank must call the same
// collectives in the same order, and the ranks together must get through all of them (wgrad W30). A plan
// without an Enqueue is symmetric by its form: a Communicate is called by all of its ranks. Next:
// core/contract/rank_symmetry.h turns what is found into findings.
#pragma once

#include <optional>
#include <vector>

#include "core/plan/plan.h"

namespace shardcheck {

/// A collective that one rank calls, by an Enqueue or by a Communicate.
struct RankCall {
  Rank rank;
  OpIndex op{-1};  ///< -1: the rank calls nothing more on the communicator
  bool operator==(const RankCall&) const = default;
};

/// What the n-th calls of a communicator's ranks do to each other.
enum class Meeting : std::uint8_t {
  mix,   ///< alike but for their ranges: they complete, and mix what does not belong together
  hang,  ///< of another collective, reduction, type or size, or missing: they never complete
};

/// The n-th calls of a communicator differ.
struct Mismatch {
  Meeting meeting{};
  std::int64_t position = 0;    ///< n, from 0
  std::vector<RankCall> calls;  ///< one a rank of the communicator, in the order of the communicator
  std::int64_t more = 0;        ///< later positions that differ in the same way
};

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

/// The range of a call that names it on rank number `i` of the op: the input of a reduction, the output of a
/// gather.
View called_range(const Plan& plan, const Op& op, std::int32_t i);

/// The collective of an Enqueue or a Communicate, else null.
const Communicate* collective_of(const Action& action);

}  // namespace shardcheck
