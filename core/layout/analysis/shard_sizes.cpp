#include "core/layout/analysis/shard_sizes.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "core/integers.h"
#include "core/layout/sizes.h"

namespace shardcheck::layout {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::int64_t lcm_or_never(std::int64_t a, std::int64_t b) {
  if (a == kNever) return kNever;
  return checked_multiply(a / std::gcd(a, b), b).value_or(kNever);
}

}  // namespace

ShardSizes::ShardSizes(std::span<const Atoms> tensors, std::int64_t granularity) {
  std::vector<Atoms> sorted(tensors.begin(), tensors.end());
  std::ranges::sort(sorted, std::greater{}, &Atoms::numel);
  steps_.push_back(granularity);
  for (const Atoms& tensor : sorted) {
    numels_.push_back(tensor.numel);
    steps_.push_back(lcm_or_never(steps_.back(), tensor.block));
  }
}

std::int64_t ShardSizes::next(std::int64_t least) const {
  std::int64_t size = std::max<std::int64_t>(least, 1);
  while (true) {
    const auto crossing = std::partition_point(numels_.begin(), numels_.end(), [&](std::int64_t numel) {
      return numel / 2 > size || (numel / 2 == size && numel % 2 == 1);
    });
    const auto count = crossing - numels_.begin();
    const std::int64_t step = steps_[count];
    // With `count` tensors longer than two shards, sizes up to `last` ask for the same.
    const std::int64_t last = count == 0 ? kNever : (numels_[count - 1] - 1) / 2;
    if (step <= last) {
      const std::int64_t candidate = round_up_size(size, step);
      if (candidate <= last) return candidate;
    }
    if (count == 0) size_overflows();
    size = last + 1;
  }
}

}  // namespace shardcheck::layout
