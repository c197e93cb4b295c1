#include "backends/faulty/values.h"

#include <gtest/gtest.h>

#include "tests/backends/rig.h"

namespace shardcheck::faulty {
namespace {

TEST(Values, RoundingTowardZeroNeverGrows) {
  std::mt19937_64 random(12);
  for (DType type : test::kFloats) {
    for (int i = 0; i < 20'000; ++i) {
      const double value = test::value_of(DType::f32, test::random_number(DType::f32, random));
      const double cut = rounded(value, type, Direction::toward_zero);
      EXPECT_LE(std::abs(cut), std::abs(value));
      EXPECT_EQ(std::signbit(cut), std::signbit(value));
      const double nearest = rounded(value, type, Direction::nearest_even);
      EXPECT_EQ(nearest, test::value_of(type, test::rounded(type, value)));
      EXPECT_TRUE(cut == nearest || std::abs(nearest) > std::abs(value));
    }
  }
  EXPECT_EQ(rounded(65520.0, DType::f16, Direction::toward_zero), 65504.0);
}

TEST(Values, StoreAndLoadAreInverse) {
  std::mt19937_64 random(13);
  for (DType type : test::kFloats) {
    test::Rig rig("cpu", "ideal", 1);
    const View view = rig.buffer(type, 50);
    const test::Codes codes = test::random_codes(type, 50, random, test::random_number);
    rig.write(0, view, codes);
    const std::vector<double> values = load(rig.backend(), rig.plan, Rank{0}, view);
    rig.write(0, view, test::Codes(50));
    store(rig.backend(), rig.plan, Rank{0}, view, values);
    EXPECT_EQ(rig.read(0, view), codes);
  }
}

}  // namespace
}  // namespace shardcheck::faulty
