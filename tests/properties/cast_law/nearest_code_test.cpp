// The definition against the readable encoder, and against the thresholds of fp8 2.2.
#include "properties/cast_law/nearest_code.h"

#include <gtest/gtest.h>

#include "core/numerics/encode.h"

namespace shardcheck {
namespace {

TEST(NearestCode, IsTheEncoder) {
  for (FormatId id : {FormatId::e4m3, FormatId::e5m2}) {
    for (const NamedCastPolicy& named : kCastPolicies) {
      for (Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
        CastPolicy policy = named.policy;
        policy.rounding = rounding;
        const NearestCode nearest(format_of(id), policy);
        for (std::uint64_t code = 0; code < std::uint64_t{1} << 32; code += 99'991) {
          const auto any = static_cast<std::uint32_t>(code), tie = (any & ~0xFFFFFu) | 0x80000u;
          for (std::uint32_t bits : {any, tie, tie - 1, tie + 1, any & ~0xFFFFFu}) {
            ASSERT_EQ(nearest(bits), encode(format_of(id), policy, bits))
                << named.name << " " << std::hex << bits;
          }
        }
      }
    }
  }
}

TEST(NearestCode, Thresholds) {
  const NearestCode e4m3(format_of(FormatId::e4m3), kNvNoSaturation);
  EXPECT_EQ(e4m3(0x3A800000u), 0x00);
  EXPECT_EQ(e4m3(0x3A800001u), 0x01);
  EXPECT_EQ(e4m3(0x43E80000u), 0x7E);
  EXPECT_EQ(e4m3(0xC3E80001u), 0xFF);
  const NearestCode e5m2(format_of(FormatId::e5m2), kNvNoSaturation);
  EXPECT_EQ(e5m2(0x37000001u), 0x01);
  EXPECT_EQ(e5m2(0x476FFFFFu), 0x7B);
  EXPECT_EQ(e5m2(0x47700000u), 0x7C);
}

}  // namespace
}  // namespace shardcheck
