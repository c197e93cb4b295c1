// Where ranges begin and end: L3 tiling, L6 alignment, L7 rows, L8 blocks, L10 contiguity
// (shard-layouts 4.1). Next: planes.h, the same tensor in several arrays.
#pragma once

#include "properties/layout_laws/facts.h"

namespace shardcheck::laws {

void judge_tiling(const Facts& facts, Findings& findings);
void judge_alignment(const Facts& facts, Findings& findings);
void judge_rows_and_blocks(const Facts& facts, Findings& findings);
void judge_contiguity(const Facts& facts, Findings& findings);

}  // namespace shardcheck::laws
