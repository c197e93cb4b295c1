// How much is held, sent and wasted: L25 collective symmetry, L29 balance, L30 waste (shard-layouts 4.3).
// Next: order.h, which rank it is.
#pragma once

#include "properties/layout_laws/facts.h"

namespace shardcheck::laws {

void judge_counts(const Facts& facts, Findings& findings);
void judge_balance(const Facts& facts, Findings& findings);
void judge_waste(const Facts& facts, Findings& findings);

}  // namespace shardcheck::laws
