#include "core/plan/builder.h"

#include <algorithm>

namespace shardcheck {

std::int32_t PlanBuilder::place(std::span<const Rank> ranks) {
  auto& arena = plan_.rank_arena;
  const auto count = static_cast<std::int32_t>(ranks.size());
  const bool same = count == last_count_ && count > 0 &&
                    std::equal(ranks.begin(), ranks.end(), arena.begin() + last_first_);
  if (same) return last_first_;
  last_first_ = static_cast<std::int32_t>(arena.size());
  last_count_ = count;
  arena.insert(arena.end(), ranks.begin(), ranks.end());
  return last_first_;
}

}  // namespace shardcheck
