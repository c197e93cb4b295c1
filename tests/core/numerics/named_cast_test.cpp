// Every format has its named casts, and a name gives what its rule says.
#include "core/numerics/named_cast.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardcheck {
namespace {

std::uint32_t code_by(FormatId format, const std::string& name, std::uint32_t bits) {
  const auto casts = named_casts(format);
  const auto found = std::ranges::find(casts, name, &NamedCast::name);
  EXPECT_NE(found, casts.end()) << name;
  return found->code_of(bits);
}

TEST(NamedCast, EveryFormatHasItsOwn) {
  for (const Format& format : kFormats) {
    const std::size_t expected = format.id == FormatId::f32 ? 0 : format.id == FormatId::e8m0 ? 8 : 7;
    EXPECT_EQ(named_casts(format.id).size(), expected) << format.name;
  }
}

TEST(NamedCast, NamesMeanTheirRules) {
  EXPECT_EQ(code_by(FormatId::e4m3, "nv_saturating", 0x43E80001u), 0x7Eu);
  EXPECT_EQ(code_by(FormatId::e4m3, "nv_nosat", 0x43E80001u), 0x7Fu);
  EXPECT_EQ(code_by(FormatId::e8m0, "rp_sat", 0x3F800001u), 0x80u);
  EXPECT_EQ(code_by(FormatId::e8m0, "rz_sat", 0x3F800001u), 0x7Fu);
  EXPECT_EQ(code_by(FormatId::e8m0, "even_sat", 0x3F800001u), 0x7Fu);
  EXPECT_EQ(code_by(FormatId::e8m0, "half_up_sat", 0x40400000u), 0x81u);  // 3 lies halfway: 4
  EXPECT_EQ(code_by(FormatId::e8m0, "even_sat", 0x40400000u), 0x80u);     // and 2 has the even code
  EXPECT_EQ(code_by(FormatId::e8m0, "rp_nosat", 0x7F800000u), 0xFFu);
}

TEST(NamedCast, OnlyUe4m3RefusesNumbersBelowZero) {
  for (const Format& format : kFormats) {
    for (const NamedCast& cast : named_casts(format.id)) {
      EXPECT_TRUE(cast.takes(0x3F800000u));
      EXPECT_EQ(cast.takes(0xBF800000u), format.id != FormatId::ue4m3) << format.name;
    }
  }
}

}  // namespace
}  // namespace shardcheck
