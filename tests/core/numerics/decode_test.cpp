// Every code of every format against the golden table of exact fractions.
#include "core/numerics/decode.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/numerics/golden.h"

namespace shardcheck {
namespace {

/// "-3/512", "448", "inf", "-0": numerators and denominators are small enough for a double's division to be
/// exact.
double fraction(const std::string& text) {
  const std::size_t slash = text.find('/');
  const double numerator = std::stod(text.substr(0, slash));
  return slash == std::string::npos ? numerator : numerator / std::stod(text.substr(slash + 1));
}

TEST(Decode, GoldenTable) {
  constexpr FormatId kColumns[] = {FormatId::e4m3, FormatId::e5m2, FormatId::e4m3fnuz, FormatId::e5m2fnuz,
                                   FormatId::e8m0, FormatId::e2m1, FormatId::e3m2,     FormatId::e2m3};
  for (const auto& row : golden::rows("fp8/decode.csv")) {
    const std::uint32_t code = golden::hex(row[0]);
    for (std::size_t column = 0; column < std::size(kColumns); ++column) {
      if (column + 1 >= row.size() || row[column + 1].empty()) continue;
      const Format& format = format_of(kColumns[column]);
      const std::string& text = row[column + 1];
      const float value = decode(format, code);
      if (text == "nan") {
        EXPECT_TRUE(std::isnan(value)) << format.name << " " << row[0];
        continue;
      }
      const double expected = format.id == FormatId::e8m0 ? std::exp2(std::stod(text)) : fraction(text);
      EXPECT_EQ(value, expected) << format.name << " " << row[0];
      EXPECT_EQ(std::signbit(value), std::signbit(expected)) << format.name << " " << row[0];
    }
  }
}

TEST(Decode, UnsignedE4m3IsTheLowerHalfOfE4m3) {
  for (std::uint32_t code = 0; code < 0x7F; ++code) {
    EXPECT_EQ(decode(format_of(FormatId::ue4m3), code), decode(format_of(FormatId::e4m3), code));
  }
  EXPECT_TRUE(std::isnan(decode(format_of(FormatId::ue4m3), 0x7F)));
}

}  // namespace
}  // namespace shardcheck
