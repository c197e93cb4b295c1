// The fast conversions against the readable ones: decoding on all inputs; encoding on every 257th fp32, on
// every midpoint and on its neighbours.
#include "core/numerics/narrow.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/numerics/decode.h"
#include "core/numerics/encode.h"

namespace shardcheck {
namespace {

const Format& kBf16 = format_of(FormatId::bf16);
const Format& kF16 = format_of(FormatId::f16);

bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

bool encodes_alike(std::uint32_t bits) {
  const auto value = std::bit_cast<float>(bits);
  return f32_to_bf16(value) == encode(kBf16, kIeee, bits) && f32_to_f16(value) == encode(kF16, kIeee, bits);
}

TEST(Narrow, DecodesAllCodes) {
  for (std::uint32_t code = 0; code < 65536; ++code) {
    ASSERT_TRUE(same(bf16_to_f32(static_cast<std::uint16_t>(code)), decode(kBf16, code))) << code;
    ASSERT_TRUE(same(f16_to_f32(static_cast<std::uint16_t>(code)), decode(kF16, code))) << code;
  }
}

TEST(Narrow, EncodesMidpointsAndNeighbours) {
  for (const Format* format : {&kBf16, &kF16}) {
    for (std::uint32_t code = 0; code < format->max_code; ++code) {
      const float middle = decode(*format, code) / 2 + decode(*format, code + 1) / 2;
      for (const float value : {decode(*format, code), middle}) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        for (const std::uint32_t near : {bits, bits + 1, bits == 0 ? 0 : bits - 1}) {
          ASSERT_TRUE(encodes_alike(near) && encodes_alike(near | 0x80000000u)) << std::hex << near;
        }
      }
    }
  }
}

TEST(Narrow, EncodesADenseSample) {
  constexpr std::uint32_t kStep = 257;  // prime, so that every low byte occurs in every binade
  std::int64_t wrong = 0;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += kStep) {
    wrong += !encodes_alike(static_cast<std::uint32_t>(bits));
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Narrow, NanIsCanonical) {
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0xffffffffu)), 0x7fc0);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x7f800001u)), 0x7fc0);
  EXPECT_EQ(f32_to_f16(std::bit_cast<float>(0xff800001u)), 0x7e00);
}

}  // namespace
}  // namespace shardcheck
