// `ideal` against a plain ExactSum over the terms, for data that take each of its ways: doubles, 128-bit
// integers, the wide sum.
#include "core/numerics/exact_gemm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "core/numerics/encode.h"
#include "core/numerics/exact_sum.h"
#include "core/numerics/gemm.h"
#include "core/numerics/narrow.h"
#include "core/numerics/philox.h"

namespace shardcheck {
namespace {

struct Family {
  const char* name;
  int exponents;  ///< binades that values spread over
  bool integers;
};

float random_value(const Family& family, std::uint64_t stream, std::uint64_t index) {
  const auto words = philox(11, stream, index);
  if (family.integers) return static_cast<float>(static_cast<int>(words[0] % 17) - 8);
  const float significand = 1 + static_cast<float>(words[0] >> 9) * 0x1p-23f;
  const int exponent =
      static_cast<int>(words[1] % static_cast<unsigned>(family.exponents)) - family.exponents / 2;
  return std::ldexp(words[2] % 2 == 0 ? significand : -significand, exponent);
}

std::vector<std::byte> stored(DType type, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(bytes_of(type)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t code =
        encode(format_of(*format_id_of(type)), kIeee, std::bit_cast<std::uint32_t>(values[i]));
    std::memcpy(bytes.data() + i * static_cast<std::size_t>(bytes_of(type)), &code,
                static_cast<std::size_t>(bytes_of(type)));
  }
  return bytes;
}

float value_at(DType type, const std::vector<std::byte>& bytes, std::int64_t index) {
  std::uint32_t code = 0;
  std::memcpy(&code, bytes.data() + index * bytes_of(type), static_cast<std::size_t>(bytes_of(type)));
  if (type == DType::f32) return std::bit_cast<float>(code);
  return type == DType::bf16 ? bf16_to_f32(static_cast<std::uint16_t>(code))
                             : f16_to_f32(static_cast<std::uint16_t>(code));
}

struct Case {
  Family family;
  DType operand;
  DType output;
  std::int64_t tokens;
};

void check(const Case& c, bool accumulate) {
  constexpr std::int64_t kOut = 7, kIn = 21;
  const auto draw = [&](std::uint64_t stream, std::int64_t count) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(random_value(c.family, stream, static_cast<std::uint64_t>(i)));
    return values;
  };
  const auto dy = stored(c.operand, draw(1, c.tokens * kOut));
  const auto x = stored(c.operand, draw(2, c.tokens * kIn));
  const auto before = stored(c.output, draw(3, kOut * kIn));
  auto after = before;
  wgrad(kIdeal, c.operand, dy, x, c.tokens, kOut, kIn, accumulate, c.output, after);
  for (std::int64_t o = 0; o < kOut; ++o) {
    for (std::int64_t i = 0; i < kIn; ++i) {
      ExactSum sum;
      if (accumulate) sum.add(static_cast<double>(value_at(c.output, before, o * kIn + i)));
      for (std::int64_t t = 0; t < c.tokens; ++t) {
        sum.add(static_cast<double>(value_at(c.operand, dy, t * kOut + o)) *
                static_cast<double>(value_at(c.operand, x, t * kIn + i)));
      }
      const std::uint32_t expected = encode(format_of(*format_id_of(c.output)), kIeee, sum.value());
      std::uint32_t actual = 0;
      std::memcpy(&actual, after.data() + (o * kIn + i) * bytes_of(c.output),
                  static_cast<std::size_t>(bytes_of(c.output)));
      ASSERT_EQ(actual, expected) << c.family.name << " " << name_of(c.operand) << " -> " << name_of(c.output)
                                  << ", " << c.tokens << " tokens, accumulate " << accumulate << ", at " << o
                                  << "," << i;
    }
  }
}

TEST(ExactGemm, EqualsTheWideSum) {
  for (const Family& family : {Family{"integers", 0, true}, Family{"near", 4, false},
                               Family{"spread", 30, false}, Family{"wide", 120, false}}) {
    for (const DType operand : {DType::bf16, DType::f16, DType::f32}) {
      if (operand == DType::f16 && family.exponents > 28) continue;
      for (const DType output : {DType::f32, DType::bf16, DType::f16}) {
        if (output == DType::f16 && family.exponents > 28) continue;
        for (const std::int64_t tokens : {1, 2, 37}) {
          for (const bool accumulate : {false, true}) check({family, operand, output, tokens}, accumulate);
        }
      }
    }
  }
}

TEST(ExactGemm, ScalesAndAlphaAreInTheOneRounding) {
  // E4M3 ones over two k-blocks with scales 3 and 2^-20, the row's with 1 and 1 + 2^-23: no intermediate fits
  // fp32.
  constexpr std::int64_t kK = 256;
  const std::vector<std::byte> ones(kK, std::byte{0x38});
  const float a[] = {3.0f, 0, 0, 0, 0x1p-20f, 0, 0, 0};
  const float b[] = {1.0f, 0, 0, 0, 1 + 0x1p-23f, 0, 0, 0};
  const GemmProblem problem{.m = 1,
                            .n = 1,
                            .k = kK,
                            .a = {FormatId::e4m3, ones, kK, 1},
                            .b = {FormatId::e4m3, ones, kK, 1},
                            .scale_mode_a = ScaleMode::vector128,
                            .scale_mode_b = ScaleMode::vector128,
                            .scales_a = a,
                            .scales_b = b,
                            .alpha = 0.7f,
                            .beta = GemmBeta::zero,
                            .output = DType::f32,
                            .fast_accumulation = FastAccumulation::off,
                            .split_k = 1};
  float result = 0;
  gemm(kIdeal, problem, {}, std::as_writable_bytes(std::span(&result, 1)));
  // 128 * (3 + 2^-20 + 2^-43) has 46 significant bits, times 24 bits of alpha: a long double would not do,
  // 128 bits do.
  ExactSum sum;
  sum.add(128 * (3 + 0x1p-20 + 0x1p-43));
  sum.multiply(0.7f);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(result), encode(format_of(FormatId::f32), kIeee, sum.value()));
}

TEST(ExactGemm, ZeroTokens) {
  std::vector<float> destination = {-0.0f, 5.0f};
  const auto bytes = std::as_writable_bytes(std::span(destination));
  wgrad(kIdeal, DType::bf16, {}, {}, 0, 1, 2, true, DType::f32, bytes);
  EXPECT_TRUE(std::signbit(destination[0]));
  EXPECT_EQ(destination[1], 5.0f);
  wgrad(kHopper, DType::bf16, {}, {}, 0, 1, 2, false, DType::f32, bytes);
  EXPECT_EQ(destination[1], 0.0f);
  EXPECT_FALSE(std::signbit(destination[0]));
}

}  // namespace
}  // namespace shardcheck
