// The wide sum against integers, and on what breaks floating point.
#include "core/numerics/exact_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/numerics/philox.h"

namespace shardcheck {
namespace {

double nearby(const Dyadic& value) {
  return (value.negative ? -1 : 1) * std::ldexp(static_cast<double>(value.significand), value.exponent);
}

TEST(ExactSum, CancellationAcrossTheWholeRange) {
  ExactSum sum;
  sum.add(0x1p127 * 0x1p127);
  sum.add(0x1p-149 * 0x1p-149);
  sum.add(-0x1p127 * 0x1p127);
  EXPECT_EQ(nearby(sum.value()), 0x1p-298);
  EXPECT_FALSE(sum.value().inexact);
  sum.add(-0x1p-298);
  EXPECT_EQ(sum.value().significand, 0u);
  EXPECT_FALSE(sum.value().negative);
}

TEST(ExactSum, TheTailIsSeen) {
  ExactSum sum;
  sum.add(-1.0);
  sum.add(-0x1p-300);
  const Dyadic value = sum.value();
  EXPECT_TRUE(value.negative);
  EXPECT_TRUE(value.inexact);
  EXPECT_EQ(value.significand, std::uint64_t{1} << 63);
  EXPECT_EQ(value.exponent, -63);
}

TEST(ExactSum, MixedSignsEqualInteger128) {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    ExactSum sum;
    ExactSum parts[2];
    __int128 integer = 0;
    for (std::uint64_t i = 0; i < 50; ++i) {
      const auto words = philox(5, trial, i);
      const auto term = static_cast<std::int64_t>(std::uint64_t{words[0]} << 32 | words[1]);
      const int shift = static_cast<int>(words[2] % 50);
      integer += static_cast<__int128>(term) << shift;
      sum.add(term, shift - 60);
      parts[i % 2].add(term, shift - 60);
    }
    parts[0].add(parts[1]);
    const bool negative = integer < 0;
    auto magnitude =
        negative ? -static_cast<unsigned __int128>(integer) : static_cast<unsigned __int128>(integer);
    int exponent = -60;
    bool inexact = false;
    for (; magnitude >> 64 != 0; magnitude >>= 1, ++exponent) inexact |= (magnitude & 1) != 0;
    for (; magnitude >> 63 == 0; magnitude <<= 1) --exponent;
    for (const Dyadic& value : {sum.value(), parts[0].value()}) {
      EXPECT_EQ(value.negative, negative);
      EXPECT_EQ(value.significand, static_cast<std::uint64_t>(magnitude));
      EXPECT_EQ(value.exponent, exponent);
      EXPECT_EQ(value.inexact, inexact);
    }
  }
}

TEST(ExactSum, MultiplicationByFactors) {
  ExactSum sum;
  sum.add(3.0);
  sum.add(-10.0);
  for (const float factor : {0x1p-149f, 0x1.fffffep127f, -0.75f}) sum.multiply(factor);
  EXPECT_EQ(nearby(sum.value()), 7 * 0.75 * 0x1p-149 * static_cast<double>(0x1.fffffep127f));
  sum.multiply(0.0f);
  EXPECT_EQ(sum.value().significand, 0u);
}

}  // namespace
}  // namespace shardcheck
