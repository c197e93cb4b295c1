// Laws that move a model between two layouts: L16 reshard, L17 world change, L18 checkpoint index
// (shard-layouts 4.2). Next: judge.h.
#pragma once

#include "core/layout/reshard.h"
#include "properties/layout_laws/memory.h"

namespace shardcheck::laws {

/// Moves a model there and back by reshard plans and compares every tensor (L16, L17 when the worlds differ).
/// A fault of the zoo may change the plan before it is executed.
struct Moves {
  std::vector<layout::Copy> there, back;
};

/// The plans between two claims of the same parameters.
Moves plan_moves(const Claim& from, const Claim& to);

void judge_moves(const Claim& from, const Claim& to, const Moves& moves, Findings& findings);

/// What FSDP2's label says after resharding to a smaller mesh, against where the data is (L16, B42).
void judge_fsdp2_labels(const Facts& facts, Findings& findings);

}  // namespace shardcheck::laws
