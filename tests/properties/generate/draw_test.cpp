#include "properties/generate/draw.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace shardcheck {
namespace {

TEST(Draw, IsTheStreamOfItsSeed) {
  Draw a(7), b(7), other(8), stream(7, 1);
  for (std::uint64_t i = 0; i < 9; ++i) {
    const std::uint32_t word = a.word();
    EXPECT_EQ(word, philox(7, 0, i / 4)[i % 4]);
    EXPECT_EQ(word, b.word());
    EXPECT_NE(word, other.word());
    EXPECT_NE(word, stream.word());
  }
}

TEST(Draw, BelowCoversItsRangeEvenly) {
  Draw draw(1);
  std::map<std::int64_t, int> seen;
  for (int i = 0; i < 7000; ++i) ++seen[draw.below(std::int64_t{7})];
  ASSERT_EQ(seen.size(), 7u);
  EXPECT_EQ(seen.begin()->first, 0);
  EXPECT_EQ(seen.rbegin()->first, 6);
  // 1000 each, with a standard deviation of sqrt(7000 * 1/7 * 6/7) < 30: five of them.
  for (const auto& [value, times] : seen) EXPECT_LE(std::llabs(times - 1000), 150) << value;
}

TEST(Draw, PicksByWeight) {
  constexpr Weighted<char> table[] = {{'a', 90}, {'b', 10}, {'c', 0}};
  Draw draw(2);
  std::map<char, int> seen;
  for (int i = 0; i < 10000; ++i) ++seen[draw.pick(table)];
  EXPECT_LE(std::llabs(seen['a'] - 9000), 150);  // five standard deviations of 30
  EXPECT_LE(std::llabs(seen['b'] - 1000), 150);
  EXPECT_EQ(seen['c'], 0);
}

TEST(Draw, ChanceOfNothingAndAll) {
  Draw draw(3);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(draw.chance(0));
    EXPECT_TRUE(draw.chance(100));
  }
}

}  // namespace
}  // namespace shardcheck
