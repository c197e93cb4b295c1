// The encoder against all golden casts, and against a second oracle that knows no bit tricks: it searches the
// decoded codes for the nearest one.
#include "core/numerics/encode.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "core/numerics/decode.h"
#include "core/numerics/narrow.h"
#include "core/numerics/philox.h"
#include "tests/core/numerics/golden.h"

namespace shardcheck {
namespace {

constexpr auto kUp = PowerOfTwoRounding::up;
constexpr auto kDown = PowerOfTwoRounding::down;
constexpr auto kSaturate = FiniteOverflow::saturate;
constexpr auto kToSpecial = FiniteOverflow::to_special;

std::uint32_t cast(FormatId id, const CastPolicy& policy, float value) {
  return encode(format_of(id), policy, std::bit_cast<std::uint32_t>(value));
}

/// Nearest code by search. Values are exact in double and so are the sums of neighbours that ties are decided
/// by.
class NearestSearch {
 public:
  explicit NearestSearch(const Format& format) : format_(format) {
    for (std::uint32_t code = 0; code <= format.max_code; ++code) values_.push_back(decode(format, code));
    // The grid goes on: one step past the largest number, where overflow begins.
    values_.push_back(2 * values_.back() - values_[values_.size() - 2]);
  }

  std::uint32_t code(const CastPolicy& policy, float value) const {
    const std::uint32_t sign = std::signbit(value) ? format_.sign_mask() : 0;
    const std::uint32_t magnitude = nearest(policy.rounding, std::abs(static_cast<double>(value)));
    if (magnitude <= format_.max_code) {
      return magnitude == 0 && format_.encoding == Encoding::fnuz ? 0 : magnitude | sign;
    }
    if (policy.finite_overflow == kSaturate || !format_.has_nan()) return format_.max_code | sign;
    if (format_.encoding == Encoding::fnuz) return 0x80;
    return (format_.has_infinity() ? format_.infinity_code : format_.nan_code) | sign;
  }

 private:
  std::uint32_t nearest(Rounding rounding, double magnitude) const {
    const auto above = std::upper_bound(values_.begin(), values_.end(), magnitude);
    const auto lower = static_cast<std::uint32_t>(above - values_.begin()) - 1;
    if (above == values_.end() || rounding == Rounding::toward_zero) return lower;
    const double twice_middle = values_[lower] + *above;
    if (2 * magnitude != twice_middle) return 2 * magnitude < twice_middle ? lower : lower + 1;
    return lower % 2 == 0 ? lower : lower + 1;
  }

  const Format& format_;
  std::vector<double> values_;
};

void expect_nearest(FormatId id, const NearestSearch& search, const CastPolicy& policy, float value) {
  if (!std::isfinite(value) || (id == FormatId::ue4m3 && std::signbit(value))) return;
  const std::uint32_t expected = search.code(policy, value);
  const std::uint32_t actual = cast(id, policy, value);
  if (expected != actual)
    ADD_FAILURE() << format_of(id).name << " " << value << ": " << actual << ", not " << expected;
}

constexpr FormatId kSearched[] = {FormatId::e4m3, FormatId::e5m2, FormatId::e4m3fnuz, FormatId::e5m2fnuz,
                                  FormatId::e2m1, FormatId::e3m2, FormatId::e2m3,     FormatId::ue4m3,
                                  FormatId::bf16, FormatId::f16};
constexpr CastPolicy kTruncating{Rounding::toward_zero, FiniteOverflow::to_special, InfinityRule::to_special,
                                 NanCode::all_ones_or_max, NanSign::drop};

TEST(Encode, EveryMidpointAndItsNeighbours) {
  for (const FormatId id : kSearched) {
    const Format& format = format_of(id);
    const NearestSearch search(format);
    for (std::uint32_t code = 0; code < format.max_code; ++code) {
      const float middle = decode(format, code) / 2 + decode(format, code + 1) / 2;
      for (const float value : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e38f)}) {
        for (const CastPolicy& policy : {kNvSaturating, kNvNoSaturation, kTruncating}) {
          expect_nearest(id, search, policy, value);
          expect_nearest(id, search, policy, -value);
        }
      }
    }
  }
}

TEST(Encode, RandomBitsAgreeWithTheSearch) {
  for (const FormatId id : kSearched) {
    const NearestSearch search(format_of(id));
    for (std::uint64_t i = 0; i < 50'000; ++i) {
      for (const std::uint32_t bits : philox(1, static_cast<std::uint64_t>(id), i)) {
        expect_nearest(id, search, i % 2 == 0 ? kNvNoSaturation : kTruncating, std::bit_cast<float>(bits));
      }
    }
  }
}

TEST(Encode, GoldenBf16AndFp16Inputs) {
  const auto bf16 = golden::bytes("fp8/bf16_to_fp8.bin");
  const auto other = golden::bytes("fp8/bf16_to_other.bin");
  const auto fp16 = golden::bytes("fp8/fp16_to_fp8.bin");
  ASSERT_EQ(bf16.size(), 4u << 16);
  ASSERT_EQ(other.size(), 7u << 16);
  ASSERT_EQ(fp16.size(), 4u << 16);
  constexpr FormatId kOther[] = {FormatId::e4m3fnuz, FormatId::e5m2fnuz, FormatId::e2m1, FormatId::e3m2,
                                 FormatId::e2m3};
  std::int64_t wrong = 0;
  for (std::uint32_t input = 0; input < 65536; ++input) {
    const auto at = [input](const std::vector<std::uint8_t>& planes, std::size_t plane) {
      return planes[plane << 16 | input];
    };
    const float from_bf16 = bf16_to_f32(static_cast<std::uint16_t>(input));
    const float from_fp16 = decode(format_of(FormatId::f16), input);
    for (const auto& [planes, value] : {std::pair{&bf16, from_bf16}, std::pair{&fp16, from_fp16}}) {
      wrong += cast(FormatId::e4m3, kNvSaturating, value) != at(*planes, 0);
      wrong += cast(FormatId::e4m3, kNvNoSaturation, value) != at(*planes, 1);
      wrong += cast(FormatId::e5m2, kNvSaturating, value) != at(*planes, 2);
      wrong += cast(FormatId::e5m2, kNvNoSaturation, value) != at(*planes, 3);
    }
    for (std::size_t i = 0; i < std::size(kOther); ++i) {
      wrong += cast(kOther[i], kNvSaturating, from_bf16) != at(other, i);
    }
    wrong += encode_e8m0(input << 16, kUp, kSaturate) != at(other, 5);
    wrong += encode_e8m0(input << 16, kDown, kSaturate) != at(other, 6);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Encode, GoldenCorners) {
  for (auto row : golden::rows("fp8/fp32_corners.csv")) {
    SCOPED_TRACE(row[0]);
    // A label may hold commas: count the columns from the end.
    const std::vector<std::string> fields(row.end() - 14, row.end());
    const std::uint32_t bits = golden::hex(fields[0]);
    const auto expect = [&](std::size_t column, FormatId id, const CastPolicy& policy) {
      EXPECT_EQ(encode(format_of(id), policy, bits), golden::hex(fields[column])) << "column " << column;
    };
    constexpr FormatId kPairs[] = {FormatId::e4m3, FormatId::e5m2, FormatId::e4m3fnuz, FormatId::e5m2fnuz};
    for (std::size_t i = 0; i < std::size(kPairs); ++i) {
      expect(1 + 2 * i, kPairs[i], kNvSaturating);
      expect(2 + 2 * i, kPairs[i], kNvNoSaturation);
    }
    expect(9, FormatId::e2m1, kNvSaturating);
    expect(10, FormatId::e3m2, kNvSaturating);
    expect(11, FormatId::e2m3, kNvSaturating);
    EXPECT_EQ(encode_e8m0(bits, kUp, kSaturate), golden::hex(fields[12]));
    EXPECT_EQ(encode_e8m0(bits, kDown, kSaturate), golden::hex(fields[13]));
  }
}

TEST(Encode, GoldenE8m0) {
  for (const auto& row : golden::rows("fp8/fp32_to_e8m0.csv")) {
    SCOPED_TRACE(row[0]);
    const std::uint32_t bits = golden::hex(row[0]);
    EXPECT_EQ(encode_e8m0(bits, kUp, kSaturate), golden::hex(row[1]));
    EXPECT_EQ(encode_e8m0(bits, kUp, kToSpecial), golden::hex(row[2]));
    EXPECT_EQ(encode_e8m0(bits, kDown, kSaturate), golden::hex(row[3]));
    EXPECT_EQ(encode_e8m0(bits, kDown, kToSpecial), golden::hex(row[4]));
  }
}

TEST(Encode, E8m0RoundsToNearest) {
  constexpr auto even = PowerOfTwoRounding::nearest_even;
  constexpr auto upper = PowerOfTwoRounding::nearest_up;
  struct Row {
    std::uint32_t bits;
    int even, up;
  };
  // fp8 2.5; the last two rows end past 2^127.
  for (const Row& row :
       {Row{0x00000000, 0x00, 0x00}, Row{0x00400001, 0x00, 0x00}, Row{0x00600000, 0x00, 0x01},
        Row{0x00600001, 0x01, 0x01}, Row{0x3f800000, 0x7F, 0x7F}, Row{0x3f800001, 0x7F, 0x7F},
        Row{0x3fc00000, 0x80, 0x80}, Row{0x40400000, 0x80, 0x81}, Row{0x40400001, 0x81, 0x81},
        Row{0x7f400000, 0xFE, 0xFF}, Row{0x7f7fffff, 0xFF, 0xFF}}) {
    SCOPED_TRACE(row.bits);
    EXPECT_EQ(encode_e8m0(row.bits, even, kToSpecial), row.even);
    EXPECT_EQ(encode_e8m0(row.bits, upper, kToSpecial), row.up);
    EXPECT_EQ(encode_e8m0(row.bits, even, kSaturate), std::min(row.even, 0xFE));
    EXPECT_EQ(encode_e8m0(row.bits, upper, kSaturate), std::min(row.up, 0xFE));
  }
}

TEST(Encode, GoldenDoubleRounding) {
  for (const auto& row : golden::rows("fp8/double_rounding.csv")) {
    const auto id = format_named(row[1] == "e4m3fn" ? "e4m3" : row[1]);
    ASSERT_TRUE(id.has_value()) << row[1];
    const auto value = std::bit_cast<float>(golden::hex(row[0]));
    const float through = row[2] == "bf16" ? bf16_to_f32(f32_to_bf16(value)) : f16_to_f32(f32_to_f16(value));
    EXPECT_EQ(cast(*id, kNvSaturating, value), golden::hex(row[3])) << row[0] << " " << row[1];
    EXPECT_EQ(cast(*id, kNvSaturating, through), golden::hex(row[4])) << row[0] << " " << row[1];
  }
}

TEST(Encode, DecodedNumbersComeBack) {
  for (const Format& format : kFormats) {
    if (format.width() > 16 || format.encoding == Encoding::power_of_two) continue;
    for (std::uint32_t code = 0; code < format.code_count(); ++code) {
      if (format.is_nan(code)) continue;
      const auto bits = std::bit_cast<std::uint32_t>(decode(format, code));
      EXPECT_EQ(encode(format, kNvNoSaturation, bits), code) << format.name;
    }
  }
  const Format& f32 = format_of(FormatId::f32);
  for (const std::uint32_t bits : {0u, 1u, 0x7fffffu, 0x800000u, 0x3f800001u, 0x7f7fffffu, 0x7f800000u}) {
    EXPECT_EQ(encode(f32, kIeee, bits), bits);
    EXPECT_EQ(encode(f32, kIeee, bits | 0x80000000u), bits | 0x80000000u);
  }
}

TEST(Encode, ATailBelowATieRoundsUp) {
  const Format& bf16 = format_of(FormatId::bf16);
  const std::uint64_t tie = (std::uint64_t{1} << 63) | (std::uint64_t{1} << 55);  // 1 + half a step
  EXPECT_EQ(encode(bf16, kIeee, Dyadic{false, tie, -63, false}), 0x3f80u);
  EXPECT_EQ(encode(bf16, kIeee, Dyadic{false, tie, -63, true}), 0x3f81u);
  EXPECT_EQ(encode(bf16, kIeee, Dyadic{true, tie, -63 - 400, true}), 0x8000u) << "far below every subnormal";
  EXPECT_EQ(encode(bf16, kIeee, Dyadic{false, tie, 400, true}), 0x7f80u);
}

}  // namespace
}  // namespace shardcheck
