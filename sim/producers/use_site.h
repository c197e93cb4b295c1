// UseSite: a use of a parameter in one backward, the calls that uses are made in, and where operands lie.
#pragma once

#include <span>
#include <vector>

#include "sim/planner/job.h"

namespace shardcheck {

/// One use in one backward: its position in scenario.uses, its number among the uses of its parameter, and
/// the ranks that have it.
struct UseSite {
  std::int32_t position = 0;
  std::int32_t parameter = 0;
  std::int32_t use = 0;
  Producer producer = Producer::fused;
  std::int32_t microbatch = 0;
  std::vector<Rank> ranks;
};

/// Members of one grouped call, in forward order; most calls have one. All have the same ranks.
using CallSites = std::span<const UseSite>;

/// x and dy of a group of a use, for the most tokens.
struct InputViews {
  View x, dy;
};

/// Where the inputs of the use lie, in this step and microbatch.
inline InputViews inputs_of(const Job& job, const UseSite& site, std::int32_t group) {
  const InputSlot& slot = job.input_of(site.position, group);
  return {slot.x, slot.dy};
}

}  // namespace shardcheck
