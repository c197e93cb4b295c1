// L18 on the index of a checkpoint: every logical element once, no padding, and the same elements that the
// ranks claim to hold. Real files are written and read in the tests, which call the same index. Next:
// moves.h.
#pragma once

#include "core/checkpoint/sharded_index.h"
#include "properties/layout_laws/claim.h"

namespace shardcheck::laws {

/// What the ranks of a claim would save.
checkpoint::ShardedIndex checkpoint_index(const Claim& claim);

void judge_checkpoint_index(const Claim& claim, const checkpoint::ShardedIndex& index, Findings& findings);

}  // namespace shardcheck::laws
