// The table of formats against the counts of fp8 1.1.
#include "core/numerics/format.h"

#include <gtest/gtest.h>

#include <set>

#include "core/numerics/decode.h"

namespace shardcheck {
namespace {

struct Counts {
  FormatId id;
  int finite;
  int distinct;
  float max;
};

TEST(Format, CountsOfCodesAndValues) {
  for (const Counts& expected :
       {Counts{FormatId::e4m3, 254, 253, 448}, Counts{FormatId::e5m2, 248, 247, 57344},
        Counts{FormatId::e4m3fnuz, 255, 255, 240}, Counts{FormatId::e5m2fnuz, 255, 255, 57344},
        Counts{FormatId::e8m0, 255, 255, 0x1p127f}, Counts{FormatId::e2m1, 16, 15, 6},
        Counts{FormatId::e3m2, 64, 63, 28}, Counts{FormatId::e2m3, 64, 63, 7.5f},
        Counts{FormatId::ue4m3, 127, 127, 448}}) {
    const Format& format = format_of(expected.id);
    int finite = 0;
    std::set<float> values;
    for (std::uint32_t code = 0; code < format.code_count(); ++code) {
      if (format.is_nan(code) || format.is_infinity(code)) continue;
      ++finite;
      values.insert(decode(format, code));
    }
    EXPECT_EQ(finite, expected.finite) << format.name;
    EXPECT_EQ(std::ssize(values), expected.distinct) << format.name;
    EXPECT_EQ(*values.rbegin(), expected.max) << format.name;
    EXPECT_EQ(decode(format, format.max_code), expected.max) << format.name;
  }
}

TEST(Format, NamesAndTypesLeadToTheirFormats) {
  for (const Format& format : kFormats) EXPECT_EQ(format_named(format.name), format.id);
  EXPECT_EQ(format_named("e4m4"), std::nullopt);
  EXPECT_EQ(format_id_of(DType::u8), std::nullopt);
  for (const DType type : {DType::f32, DType::bf16, DType::f16, DType::e4m3, DType::e5m2}) {
    EXPECT_EQ(format_of(*format_id_of(type)).name, name_of(type));
  }
}

}  // namespace
}  // namespace shardcheck
