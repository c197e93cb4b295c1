// The edges that tell policies apart, as fp8 2.3 lists them.
#include "core/numerics/cast_policy.h"

#include <gtest/gtest.h>

#include "core/numerics/encode.h"

namespace shardcheck {
namespace {

constexpr std::uint32_t k465 = 0x43e88000, kMinus465 = 0xc3e88000, k61440 = 0x47700000;
constexpr std::uint32_t kInfinity = 0x7f800000, kNan = 0x7fc00000, kMinusNan = 0xffc00000;

struct Edges {
  std::string_view policy;
  std::uint32_t e4m3_overflow, e4m3_negative_overflow, e5m2_overflow;
  std::uint32_t e4m3_infinity, e5m2_infinity;
  std::uint32_t e4m3_minus_nan, e5m2_nan, e2m1_nan, e2m1_minus_nan;
};

TEST(CastPolicy, Edges) {
  for (const Edges& row : {
           Edges{"nv_saturating", 0x7E, 0xFE, 0x7B, 0x7E, 0x7B, 0x7F, 0x7F, 0x7, 0x7},
           Edges{"nv_nosat", 0x7F, 0xFF, 0x7C, 0x7F, 0x7C, 0x7F, 0x7F, 0x7, 0x7},
           Edges{"ml_dtypes", 0x7F, 0xFF, 0x7C, 0x7F, 0x7C, 0xFF, 0x7E, 0x8, 0x0},
           Edges{"ml_dtypes_saturating", 0x7E, 0xFE, 0x7B, 0x7F, 0x7C, 0xFF, 0x7E, 0x8, 0x0},
           Edges{"torch_before", 0x7F, 0xFF, 0x7C, 0x7F, 0x7C, 0xFF, 0x7F, 0x7, 0xF},
           Edges{"torch_after", 0x7E, 0xFE, 0x7B, 0x7F, 0x7C, 0xFF, 0x7F, 0x7, 0xF},
       }) {
    SCOPED_TRACE(row.policy);
    const auto policy = cast_policy_named(row.policy);
    ASSERT_TRUE(policy.has_value());
    const auto cast = [&](FormatId id, std::uint32_t bits) { return encode(format_of(id), *policy, bits); };
    EXPECT_EQ(cast(FormatId::e4m3, k465), row.e4m3_overflow);
    EXPECT_EQ(cast(FormatId::e4m3, kMinus465), row.e4m3_negative_overflow);
    EXPECT_EQ(cast(FormatId::e5m2, k61440), row.e5m2_overflow);
    EXPECT_EQ(cast(FormatId::e4m3, kInfinity), row.e4m3_infinity);
    EXPECT_EQ(cast(FormatId::e5m2, kInfinity), row.e5m2_infinity);
    EXPECT_EQ(cast(FormatId::e4m3, kMinusNan), row.e4m3_minus_nan);
    EXPECT_EQ(cast(FormatId::e5m2, kNan), row.e5m2_nan);
    EXPECT_EQ(cast(FormatId::e2m1, kNan), row.e2m1_nan);
    EXPECT_EQ(cast(FormatId::e2m1, kMinusNan), row.e2m1_minus_nan);
    EXPECT_EQ(cast(FormatId::e2m1, kInfinity), 0x7u) << "a format without special codes saturates";
    EXPECT_EQ(cast(FormatId::e4m3fnuz, kNan), 0x80u);
  }
  EXPECT_EQ(cast_policy_named("nv"), std::nullopt);
}

}  // namespace
}  // namespace shardcheck
