// The definition against the readable encoder, and against the thresholds of fp8 2.2.
#include "properties/cast_law/nearest_code.h"

#include <gtest/gtest.h>

#include "core/numerics/encode.h"

namespace shardcheck {
namespace {

void expect_same(const NearestCode& nearest, const NamedCast& cast) {
  for (std::uint64_t code = 0; code < std::uint64_t{1} << 32; code += 299'993) {
    const auto any = static_cast<std::uint32_t>(code), tie = (any & ~0xFFFFFu) | 0x80000u;
    for (std::uint32_t bits : {any, tie, tie - 1, tie + 1, any & ~0xFFFFFu, any | 0xFFFFu, any & ~0xFFFFu}) {
      if (!cast.takes(bits)) continue;
      ASSERT_EQ(nearest(bits), cast.code_of(bits)) << cast.name << " " << std::hex << bits;
    }
  }
}

TEST(NearestCode, IsTheEncoder) {
  for (const Format& format : kFormats) {
    for (NamedCast cast : named_casts(format.id)) {
      SCOPED_TRACE(format.name);
      expect_same(NearestCode(cast), cast);
      auto* policy = std::get_if<CastPolicy>(&cast.rule);
      if (policy == nullptr) continue;
      policy->rounding = Rounding::toward_zero;
      expect_same(NearestCode(cast), cast);
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
