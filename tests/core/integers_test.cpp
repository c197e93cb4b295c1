#include "core/integers.h"

#include <gtest/gtest.h>

#include <limits>

namespace shardcheck {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

static_assert(checked_multiply(3, -4) == -12);
static_assert(div_exact(12, 4) == 3 && div_floor(13, 4) == 3 && div_ceil(13, 4) == 4 && div_ceil(12, 4) == 3);

TEST(Integers, OverflowIsNothing) {
  EXPECT_EQ(checked_multiply(kMax, 2), std::nullopt);
  EXPECT_EQ(checked_multiply(kMin, -1), std::nullopt);
  EXPECT_EQ(checked_multiply(kMin, 1), kMin);
  EXPECT_EQ(checked_add(kMax, 1), std::nullopt);
  EXPECT_EQ(checked_add(kMin, kMax), -1);
}

TEST(Integers, DivisionAtTheBorders) {
  EXPECT_EQ(div_ceil(0, 7), 0);
  EXPECT_EQ(div_ceil(kMax, 2), kMax / 2 + 1);
  EXPECT_EQ(div_ceil(kMax, kMax), 1);
  EXPECT_EQ(round_up(0, 8), 0);
  EXPECT_EQ(round_up(8, 8), 8);
  EXPECT_EQ(round_up(9, 8), 16);
}

TEST(Integers, MisuseAborts) {
  EXPECT_DEATH(div_exact(7, 2), "does not divide");
  EXPECT_DEATH(div_exact(7, 0), "does not divide");
  EXPECT_DEATH(div_floor(-1, 2), "negative");
  EXPECT_DEATH(div_ceil(1, 0), "negative");
  EXPECT_DEATH(round_up(kMax, 2), "overflow");
}

}  // namespace
}  // namespace shardcheck
