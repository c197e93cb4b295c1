// Shard sizes that one contiguous buffer of equal shards can have at all: a tensor longer than two shards has
// two boundaries inside, so its uncut block divides the distance between them, which is the size
// (shard-layouts 3.13, last paragraph). A necessary condition: the bound below which no order of the tensors
// helps, and the steps that planner R1 need not try. Next: relaxations.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shardcheck::layout {

/// A tensor and what may not be cut in it.
struct Atoms {
  std::int64_t numel = 0;
  std::int64_t block = 1;  ///< elements that stay together, at least 1
};

class ShardSizes {
 public:
  /// `granularity`: every size is a multiple of it, in elements, at least 1.
  ShardSizes(std::span<const Atoms> tensors, std::int64_t granularity);

  /// The smallest possible size of at least `least`. Cost: logarithmic in the tensors a distinct length.
  std::int64_t next(std::int64_t least) const;

 private:
  std::vector<std::int64_t> numels_;  ///< descending
  std::vector<std::int64_t> steps_;   ///< [k]: what the k longest tensors together ask for, saturated
};

}  // namespace shardcheck::layout
