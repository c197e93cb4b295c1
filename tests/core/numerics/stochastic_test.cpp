// Stochastic rounding, counted over every draw (F14, F15): the definition says how many of the 2^k draws go
// up, so nothing here is a statistic.
#include "core/numerics/stochastic.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include "core/numerics/decode.h"
#include "core/numerics/encode.h"

namespace shardcheck {
namespace {

std::map<std::uint32_t, int> histogram(FormatId id, float value, int bits) {
  std::map<std::uint32_t, int> counts;
  for (std::uint32_t draw = 0; draw < 1u << bits; ++draw) {
    ++counts[encode_stochastic(format_of(id), kNvSaturating, std::bit_cast<std::uint32_t>(value),
                               {.count = bits, .value = draw})];
  }
  return counts;
}

TEST(Stochastic, CountsAreTheFractionOfTheStep) {
  using Counts = std::map<std::uint32_t, int>;
  // Q46: 1.125 * 2^-14 of E5M2 lies halfway between codes 4 and 5.
  EXPECT_EQ(histogram(FormatId::e5m2, 1.125f * 0x1p-14f, 8), (Counts{{4, 128}, {5, 128}}));
  EXPECT_EQ(histogram(FormatId::e4m3, 1.0625f, 8), (Counts{{0x38, 128}, {0x39, 128}}));
  EXPECT_EQ(histogram(FormatId::e2m1, 1.0f + 0x1p-9f, 8), (Counts{{2, 255}, {3, 1}})) << "one 2^-k part";
  EXPECT_EQ(histogram(FormatId::e2m1, 1.0f + 0x1p-10f, 8), (Counts{{2, 256}})) << "below 2^-k: never up";
  EXPECT_EQ(histogram(FormatId::e2m1, -0.5f + 0x1p-9f, 8), (Counts{{0x8, 1}, {0x9, 255}}));
  EXPECT_EQ(histogram(FormatId::e4m3, 460.0f, 4), (Counts{{0x7E, 16}})) << "past the largest it clamps";
}

TEST(Stochastic, ACodeNeverMoves) {
  for (const FormatId id : {FormatId::e4m3, FormatId::e5m2, FormatId::e2m1, FormatId::e3m2}) {
    const Format& format = format_of(id);
    for (std::uint32_t code = 0; code < format.code_count(); ++code) {
      if (format.is_nan(code) || format.is_infinity(code)) continue;
      const auto bits = std::bit_cast<std::uint32_t>(decode(format, code));
      for (const std::uint32_t draw : {0u, 1u, 128u, 255u})
        EXPECT_EQ(encode_stochastic(format, kNvSaturating, bits, {.count = 8, .value = draw}), code);
    }
  }
}

TEST(Stochastic, SpecialNumbersFollowThePolicy) {
  for (const std::uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00001u, 0x7f7fffffu}) {
    const Format& format = format_of(FormatId::e2m1);
    EXPECT_EQ(encode_stochastic(format, kNvSaturating, bits, {.count = 8, .value = 7}),
              encode(format, kNvSaturating, bits));
  }
}

TEST(StochasticDeath, ADrawHasNoMoreBitsThanDeclared) {
  EXPECT_DEATH(encode_stochastic(format_of(FormatId::e2m1), kNvSaturating, 0, {.count = 8, .value = 256}),
               "more bits than declared");
}

}  // namespace
}  // namespace shardcheck
