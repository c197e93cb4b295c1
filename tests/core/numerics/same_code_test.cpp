// Which codes are the same, and how far apart others are, in every type.
#include "core/numerics/same_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace shardcheck {
namespace {

TEST(SameCode, EveryNanIsTheSameAndZerosAreTwo) {
  EXPECT_TRUE(is_same(DType::f32, {0x7FC00000u, 0xFFC0DEADu}));
  EXPECT_TRUE(is_same(DType::f32, {0x7FC00000u, 0x7F800001u}));
  EXPECT_FALSE(is_same(DType::f32, {0x7FC00000u, 0x7F800000u}));
  EXPECT_FALSE(is_same(DType::f32, {0, 0x80000000u}));
  EXPECT_TRUE(is_same(DType::bf16, {0x7FC0u, 0xFF81u}));
  EXPECT_TRUE(is_same(DType::f16, {0x7E00u, 0xFC01u}));
  EXPECT_TRUE(is_same(DType::e4m3, {0x7Fu, 0xFFu}));
  EXPECT_FALSE(is_same(DType::e4m3, {0x7Fu, 0x7Eu}));
  EXPECT_TRUE(is_same(DType::e5m2, {0x7Du, 0xFFu}));
  EXPECT_FALSE(is_same(DType::u8, {0x7Fu, 0xFFu}));
}

TEST(SameCode, NanRuleIsTheFormats) {
  for (DType type : {DType::bf16, DType::f16, DType::e4m3, DType::e5m2}) {
    const Format& format = format_of(*format_id_of(type));
    for (std::uint32_t code = 0; code < format.code_count(); ++code) {
      const bool is_nan = format.is_nan(code);
      ASSERT_EQ(canonical_code(type, code), is_nan ? format.quiet_nan_code : code) << name_of(type);
      ASSERT_EQ(std::isnan(value_of_code(type, code)), is_nan);
    }
  }
}

TEST(SameCode, UlpsCountNumbersAcrossSignsAndTypes) {
  EXPECT_EQ(ulps_between(DType::f32, {0x3F800000u, 0x3F800001u}), 1);
  EXPECT_EQ(ulps_between(DType::f32, {0x3F800000u, 0x3F7FFFFFu}), 1);
  EXPECT_EQ(ulps_between(DType::f32, {0x00000001u, 0x80000001u}), 2);
  EXPECT_EQ(ulps_between(DType::f32, {0x00000000u, 0x80000000u}), 0);
  EXPECT_EQ(ulps_between(DType::f32, {0x7F7FFFFFu, 0x7F800000u}), 1);
  EXPECT_EQ(ulps_between(DType::f32, {0x7F800000u, 0xFF800000u}), 2 * 0x7F800000LL);
  EXPECT_EQ(ulps_between(DType::bf16, {0x4380u, 0x4381u}), 1);
  EXPECT_EQ(ulps_between(DType::f16, {0x3C00u, 0xBC00u}), 2 * 0x3C00);
  EXPECT_EQ(ulps_between(DType::e4m3, {0x01u, 0x82u}), 3);
  EXPECT_EQ(ulps_between(DType::e5m2, {0x7Bu, 0x7Cu}), 1);
  EXPECT_EQ(ulps_between(DType::f32, {0x7FC00000u, 0x3F800000u}), std::nullopt);
  EXPECT_EQ(ulps_between(DType::u8, {1, 2}), std::nullopt);
}

/// The numbers in their order are a chain of single steps: all pairs of both FP8 types.
TEST(SameCode, UlpsAreDistancesInTheOrderOfNumbers) {
  for (DType type : {DType::e4m3, DType::e5m2}) {
    const Format& format = format_of(*format_id_of(type));
    std::vector<std::uint32_t> codes;
    for (std::uint32_t code = 0; code < 256; ++code) {
      if (code != 0x80 && !format.is_nan(code)) codes.push_back(code);  // -0 stands where +0 does
    }
    std::ranges::sort(codes, {}, [&](std::uint32_t code) { return value_of_code(type, code); });
    for (std::size_t i = 0; i < codes.size(); ++i) {
      for (std::size_t j = i; j < codes.size(); ++j)
        ASSERT_EQ(ulps_between(type, {codes[j], codes[i]}), static_cast<std::int64_t>(j - i))
            << name_of(type);
    }
  }
}

TEST(SameCode, DifferingFindsTheFirstAndCounts) {
  const std::vector<std::uint32_t> a = {1, 2, 0x7FC00000u, 4, 0}, b = {1, 3, 0xFFC00001u, 4, 0x80000000u};
  const Differing found = differing(DType::f32, {std::as_bytes(std::span(a)), std::as_bytes(std::span(b))});
  EXPECT_EQ(found.first, 1);
  EXPECT_EQ(found.count, 2);
  EXPECT_EQ(differing(DType::f32, {std::as_bytes(std::span(a)), std::as_bytes(std::span(a))}).first, -1);
  EXPECT_EQ(differing(DType::u8, {}).count, 0);
}

}  // namespace
}  // namespace shardcheck
