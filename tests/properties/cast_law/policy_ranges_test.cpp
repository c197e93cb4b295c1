// Ranges against the two casts themselves, at their ends and one step outside.
#include "properties/cast_law/policy_ranges.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

NearestCode e4m3(const CastPolicy& policy) {
  return NearestCode(format_of(FormatId::e4m3), policy);
}

TEST(PolicyRanges, SaturationIsARangeOfEitherSign) {
  const auto ranges = ranges_that_differ(e4m3(kNvSaturating), e4m3(kNvNoSaturation));
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].first, 0x43E80001u);
  EXPECT_EQ(ranges[0].last, 0x7F800000u);  // infinity too: it follows overflow
  EXPECT_EQ(ranges[0].by_first, 0x7E);
  EXPECT_EQ(ranges[0].by_second, 0x7F);
  EXPECT_EQ(ranges[1].first, 0xC3E80001u);
  EXPECT_EQ(ranges[1].by_second, 0xFF);
  EXPECT_EQ(ranges[0].inputs(), 0x7F800000u - 0x43E80001u + 1);
}

TEST(PolicyRanges, ACastDoesNotDifferFromItself) {
  for (FormatId format : {FormatId::e4m3, FormatId::bf16, FormatId::e8m0, FormatId::e2m1}) {
    for (const NamedCast& cast : named_casts(format))
      EXPECT_TRUE(ranges_that_differ(NearestCode(cast), NearestCode(cast)).empty()) << cast.name;
  }
}

/// Inside every range the casts differ by what it says, and next to it they do not differ by the same codes.
TEST(PolicyRanges, EndWhereTheCodesDo) {
  std::size_t count = 0;
  for (const Format& format : kFormats) {
    if (format.id == FormatId::bf16 || format.id == FormatId::f16) continue;  // thousands of codes
    const auto casts = named_casts(format.id);
    for (const NamedCast& a : casts) {
      for (const NamedCast& b : casts) {
        const auto by_range = [&](std::uint32_t bits, const DifferingRange& range) {
          return a.takes(bits) && a.code_of(bits) == range.by_first && b.code_of(bits) == range.by_second;
        };
        for (const DifferingRange& range : ranges_that_differ(NearestCode(a), NearestCode(b))) {
          ++count;
          for (std::uint32_t bits : {range.first, range.first + (range.last - range.first) / 2, range.last})
            ASSERT_TRUE(by_range(bits, range)) << format.name << " " << a.name << " " << b.name;
          if (range.first << 1 != 0) {
            ASSERT_FALSE(by_range(range.first - 1, range)) << a.name << b.name;
          }
          if ((range.last & 0x7FFFFFFFu) != 0x7FFFFFFFu) {
            ASSERT_FALSE(by_range(range.last + 1, range)) << a.name << b.name;
          }
        }
      }
    }
  }
  EXPECT_GT(count, 1000u);
}

}  // namespace
}  // namespace shardcheck
