// The same tensor in several arrays and in 128 bits: L14 co-location, L26 64-bit (shard-layouts 4.2, 4.3).
// Next: bounds.h, how much is held and wasted.
#pragma once

#include "properties/layout_laws/facts.h"

namespace shardcheck::laws {

void judge_planes(const Facts& facts, Findings& findings);
void judge_wide(const Facts& facts, Findings& findings);

}  // namespace shardcheck::laws
