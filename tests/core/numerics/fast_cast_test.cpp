// The fast casts against the readable encoder: every format, every named policy, both roundings, around every
// 16-bit prefix of fp32. All 2^32 inputs are the business of `shardcheck fp8 certify`.
#include "core/numerics/fast_cast.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace shardcheck {
namespace {

/// Every 16-bit prefix with the tails next to it and next to its middle: all midpoints of all formats with
/// their neighbours, subnormals, infinities and NaNs among them.
std::vector<float> inputs() {
  std::vector<float> numbers;
  for (std::uint32_t prefix = 0; prefix <= 0xFFFFu; ++prefix) {
    for (std::uint32_t tail : {0u, 1u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu})
      numbers.push_back(std::bit_cast<float>(prefix << 16 | tail));
  }
  return numbers;
}

bool is_negative_number(float number) {
  return number < 0;
}

template <class Code>
void expect_readable_codes(const Format& format, const CastPolicy& policy, std::vector<float> numbers) {
  if (format.sign_bits == 0) std::erase_if(numbers, is_negative_number);
  std::vector<Code> codes(numbers.size());
  FastCast(format, policy)(numbers, codes);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(numbers[i]);
    ASSERT_EQ(codes[i], encode(format, policy, bits)) << format.name << " " << std::hex << bits;
  }
}

TEST(FastCast, IsTheReadableEncoder) {
  const std::vector<float> numbers = inputs();
  for (const Format& format : kFormats) {
    if (format.id == FormatId::e8m0 || format.id == FormatId::f32) continue;
    for (const NamedCastPolicy& named : kCastPolicies) {
      for (Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
        SCOPED_TRACE(named.name);
        CastPolicy policy = named.policy;
        policy.rounding = rounding;
        if (format.width() == 16) {
          expect_readable_codes<std::uint16_t>(format, policy, numbers);
        } else {
          expect_readable_codes<std::uint8_t>(format, policy, numbers);
        }
      }
    }
  }
}

TEST(FastCast, PowersOfTwoAreThoseOfTheReadableEncoder) {
  const std::vector<float> numbers = inputs();
  std::vector<std::uint8_t> codes(numbers.size());
  for (PowerOfTwoRounding rounding : {PowerOfTwoRounding::up, PowerOfTwoRounding::down,
                                      PowerOfTwoRounding::nearest_even, PowerOfTwoRounding::nearest_up}) {
    for (FiniteOverflow overflow : {FiniteOverflow::saturate, FiniteOverflow::to_special}) {
      FastPowerOfTwoCast(rounding, overflow)(numbers, codes);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(numbers[i]);
        ASSERT_EQ(codes[i], encode_e8m0(bits, rounding, overflow)) << std::hex << bits;
      }
    }
  }
}

/// A range that ends between two vectors is written up to its end and no further.
TEST(FastCast, AnyNumberOfCodes) {
  const FastCast cast(format_of(FormatId::e4m3), kNvSaturating);
  const std::vector<float> ones(100, 1.0f);
  for (std::size_t count = 0; count <= ones.size(); ++count) {
    std::vector<std::uint8_t> codes(ones.size() + 1, 0xA5);
    cast(std::span(ones).first(count), std::span(codes).first(count));
    for (std::size_t i = 0; i < codes.size(); ++i) ASSERT_EQ(codes[i], i < count ? 0x38 : 0xA5) << count;
  }
}

}  // namespace
}  // namespace shardcheck
