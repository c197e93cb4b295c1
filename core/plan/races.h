// Races of a plan, found without running it: pairs of ops that touch the same bytes of a rank, at least one
// of them writing, and that nothing orders. Happens-before is the closure of stream order, of an event's
// record before what follows a wait for it, and of collectives: one ends on a rank only after all ranks of
// its group have begun it (wgrad 6.1 a, b, d). Storage that goes back to a pool and comes out of it counts as
// written (6.1 e). Next: schedule.h makes a race happen; core/contract/ordering.h says which edge is missing.
#pragma once

#include <vector>

#include "core/plan/plan.h"

namespace shardcheck {

/// Two ops in conflict, in the order of the plan, on different streams of `rank`.
struct Race {
  OpIndex first, second;
  Rank rank;   ///< the first of those on which the two race
  View bytes;  ///< a range that both touch there
  bool operator==(const Race&) const = default;
};

/// For every op all races with the last conflicting read and the last write of every other stream: an op that
/// is ordered after those is ordered after all earlier ones. Ascending by second op, one entry a pair.
/// Exactness class: exact. Time and memory: linear in ops, times ranks, while there are none; with races the
/// order through other ranks is looked at too, in time that grows with the square of the ranks.
std::vector<Race> races_of(const Plan& plan);

/// What an op touches for the sake of order: handing storage back and out, and letting a consumer read, too.
Access ordered_access(const Action& action);

}  // namespace shardcheck
