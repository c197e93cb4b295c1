// Who holds which elements: L1 cover, L2 no overlap, L9 tensor atomicity, L12 degenerate tensors, L22 frozen,
// L23 replicas (shard-layouts 4.1, 4.2). Next: cuts.h, where the ranges may end.
#pragma once

#include "properties/layout_laws/facts.h"

namespace shardcheck::laws {

void judge_cover(const Facts& facts, Findings& findings);
void judge_overlap(const Facts& facts, Findings& findings);
void judge_whole_tensors(const Facts& facts, Findings& findings);
void judge_degenerate(const Facts& facts, Findings& findings);
void judge_frozen(const Facts& facts, Findings& findings);
void judge_replicas(const Facts& facts, Findings& findings);

}  // namespace shardcheck::laws
