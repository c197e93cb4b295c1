// Laws for which numbers move inside one layout: L4 and L5 padding canaries, L13 round trip, L15 linearity,
// L27 two-level amax (shard-layouts 4.1 to 4.3). Callers have asked can_move. Next: moves.h, between layouts.
#pragma once

#include "properties/layout_laws/memory.h"

namespace shardcheck::laws {

void judge_padding(const Facts& facts, Findings& findings);
void judge_round_trip(const Facts& facts, Findings& findings);
void judge_linearity(const Facts& facts, Findings& findings);
void judge_scales(const Facts& facts, Findings& findings);

}  // namespace shardcheck::laws
