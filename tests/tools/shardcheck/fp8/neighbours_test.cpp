// Neighbours against the table of the format, for every code and every point between two.
#include "tools/shardcheck/fp8/neighbours.h"

#include <gtest/gtest.h>

#include "core/numerics/decode.h"

namespace shardcheck::fp8 {
namespace {

TEST(Fp8Neighbours, OfEveryCodeAndBetween) {
  for (const Format& format : kFormats) {
    if (format.width() > 8) continue;
    for (std::uint32_t code = 0; code < format.max_code; ++code) {
      const double value = decode(format, code), next = decode(format, code + 1);
      EXPECT_TRUE(neighbours_of(format, value).is_exact());
      const Neighbours between = neighbours_of(format, value + (next - value) / 4);
      EXPECT_EQ(between.below, code);
      EXPECT_EQ(between.above, code + 1);
      EXPECT_EQ(between.midpoint, (value + next) / 2);
    }
  }
}

TEST(Fp8Neighbours, BeyondTheEnds) {
  const Neighbours e4m3 = neighbours_of(format_of(FormatId::e4m3), 1000);
  EXPECT_EQ(e4m3.below, 0x7Eu);
  EXPECT_FALSE(e4m3.above);
  EXPECT_EQ(e4m3.value_above, 480);
  EXPECT_EQ(e4m3.midpoint, 464);
  const Neighbours e8m0 = neighbours_of(format_of(FormatId::e8m0), 0x1.8p127);
  EXPECT_EQ(e8m0.value_above, 0x1p128);
  const Neighbours tiny = neighbours_of(format_of(FormatId::e8m0), 0x1p-140);
  EXPECT_FALSE(tiny.below);
  EXPECT_EQ(tiny.above, 0u);
}

}  // namespace
}  // namespace shardcheck::fp8
