// A plan rank by rank: every op that is not a collective becomes one op a rank, so that ranks may run apart.
// Results are the same; there are more schedules, and some races exist only there. Next: explore.h.
#pragma once

#include <vector>

#include "core/plan/plan.h"

namespace shardcheck {

struct RankByRank {
  Plan plan;
  std::vector<OpIndex> begins;  ///< an op of the given plan, and its end: where it begins now
};

RankByRank rank_by_rank(const Plan& plan);

}  // namespace shardcheck
