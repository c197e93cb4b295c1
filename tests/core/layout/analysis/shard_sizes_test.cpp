// Against trying every size: no size that is skipped can place the tensors, and planner R1 finds the same.
#include "core/layout/analysis/shard_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "properties/generate/draw.h"

namespace shardcheck::layout {
namespace {

bool is_possible(const std::vector<Atoms>& tensors, std::int64_t granularity, std::int64_t size) {
  return size % granularity == 0 && std::ranges::all_of(tensors, [&](const Atoms& tensor) {
           return tensor.numel <= 2 * size || size % tensor.block == 0;
         });
}

TEST(ShardSizes, AreTheNextThatTheConditionAllows) {
  for (std::uint64_t number = 0; number < 3000; ++number) {
    Draw draw(11, number);
    std::vector<Atoms> tensors;
    for (std::int32_t i = draw.below(5); i >= 0; --i)
      tensors.push_back({draw.below(200) + std::int64_t{1}, draw.below(12) + std::int64_t{1}});
    const std::int64_t granularity = draw.below(4) + 1;
    const ShardSizes sizes(tensors, granularity);
    const std::int64_t least = draw.below(120);
    std::int64_t expected = std::max<std::int64_t>(least, 1);
    while (!is_possible(tensors, granularity, expected)) ++expected;
    ASSERT_EQ(sizes.next(least), expected) << number;
  }
}

TEST(ShardSizes, BlocksWithoutASmallMultipleDoNotOverflow) {
  const std::vector<Atoms> tensors = {{1'000'000'007LL * 64, 1'000'000'007},
                                      {998'244'353LL * 64, 998'244'353},
                                      {1'000'000'009LL * 64, 1'000'000'009}};
  const std::int64_t size = ShardSizes(tensors, 1).next(1);
  EXPECT_EQ(size, 1'000'000'009LL * 32);  // no smaller shard suits the longest
}

}  // namespace
}  // namespace shardcheck::layout
