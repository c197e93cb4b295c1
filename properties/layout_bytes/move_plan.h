// MovePlan: a layout's shards, their all-gather, the reduce-scatter of flat gradients, and the copies that
// cut the gathered model again, as one plan. It holds every element's place, not its value. Next:
// layout_bytes.cpp writes values and judges them.
#pragma once

#include <optional>
#include <vector>

#include "core/plan/plan.h"
#include "properties/layout_laws/claim.h"

namespace shardcheck {

/// True when every buffer is cut into equal shards, which all-gather and reduce-scatter move.
bool has_equal_shards(const laws::Claim& claim);

/// One buffer of the layout on its ranks 0 to world - 1. Shards of all buckets lie end to end.
struct MovedGroup {
  BufferId shards, gathered, gradients, sums;  ///< fp32; gathered and gradients are the flat buffer
  std::vector<std::int64_t> begin;             ///< [bucket], of its shard in `shards` and `sums`
  std::vector<OpIndex> gathers, reductions;    ///< [bucket]
};

/// A shard of the second layout, on `rank` of the first.
struct CutShard {
  std::int32_t group = 0, bucket = 0;
  std::int32_t owner = 0;  ///< its rank in the second layout
  Rank rank;
  BufferId buffer;
  OpIndex last_copy{-1};
};

struct MovePlan {
  Plan plan;
  std::vector<MovedGroup> groups;  ///< as the claim's
  std::vector<CutShard> cut;       ///< empty without a second layout
};

/// `from` has_equal_shards; `to` is of the same parameters.
MovePlan move_plan(const laws::Claim& from, const laws::Claim* to);

}  // namespace shardcheck
