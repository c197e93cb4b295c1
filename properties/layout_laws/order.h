// Which rank: L19 mesh order, L20 cuts by several axes, and what upstream does with strided shards (L13, L20)
// (shard-layouts 2.11, 4.2). Next: rebuild.h.
#pragma once

#include "properties/layout_laws/facts.h"

namespace shardcheck::laws {

void judge_mesh_order(const Facts& facts, Findings& findings);
void judge_several_axes(const Facts& facts, Findings& findings);

/// Upstream's gather of a strided shard (L13, B24) and its reading of a strided pair as TP-first (L20).
void judge_upstream_strided(const Facts& facts, Findings& findings);

}  // namespace shardcheck::laws
