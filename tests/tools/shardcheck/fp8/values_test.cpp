// Numbers of the command line and back to text.
#include "tools/shardcheck/fp8/values.h"

#include <gtest/gtest.h>

#include <bit>

#include "core/error.h"

namespace shardcheck::fp8 {
namespace {

std::uint32_t bits_in(const std::string& text, DType source) {
  return input_in(text, source, "test").f32_bits;
}

TEST(Fp8Values, TextsOfNumbers) {
  EXPECT_EQ(exact_text(0.001953125), "0.001953125");
  EXPECT_EQ(exact_text(-448), "-448");
  EXPECT_EQ(exact_text(0x1p-127), "2^-127");
  EXPECT_EQ(exact_text(-0x1p-127), "-2^-127");
  EXPECT_EQ(exact_text(257 * 0x1p-140), "257 * 2^-140");
  EXPECT_EQ(value_text(format_of(FormatId::e4m3), 0xFF), "-NaN (0xff)");
  EXPECT_EQ(value_text(format_of(FormatId::e4m3), 0x80), "-0 (0x80)");
  EXPECT_EQ(code_text(format_of(FormatId::e2m1), 7), "0x7");
  EXPECT_EQ(code_text(format_of(FormatId::bf16), 7), "0x0007");
}

TEST(Fp8Values, NumbersAreRoundedOnce) {
  EXPECT_EQ(bits_in("0.3", DType::f32), 0x3E99999Au);
  EXPECT_EQ(bits_in("0x1p-9", DType::f32), 0x3B000000u);
  EXPECT_EQ(bits_in("-0", DType::f32), 0x80000000u);
  EXPECT_EQ(bits_in("0.3", DType::bf16), 0x3E9A0000u);
  // Just above the midpoint of two bf16 numbers, by less than fp32 sees: fp32 first would make it a tie.
  EXPECT_EQ(bits_in("1.00390625000000001", DType::bf16), 0x3F800000u);  // double sees it neither: a tie
  EXPECT_EQ(bits_in("1.0039062500001", DType::bf16), 0x3F810000u);
  EXPECT_EQ(bits_in("1e30", DType::f16), 0x7F800000u);
  EXPECT_EQ(bits_in("inf", DType::bf16), 0x7F800000u);
  EXPECT_EQ(bits_in("0x3c00", DType::f16), 0x3F800000u);
  EXPECT_GT(bits_in("nan", DType::f16), 0x7F800000u);
  EXPECT_FALSE(input_in("0.5", DType::f32, "test").is_rounded);
  EXPECT_TRUE(input_in("0.1", DType::f32, "test").is_rounded);
  EXPECT_THROW(input_in("1 2", DType::f32, "test"), Error);
  EXPECT_THROW(input_in("", DType::f32, "test"), Error);
}

TEST(Fp8Values, NumbersGoBehindTheFlags) {
  const std::vector<std::string> words = {"-0.3", "--format", "e4m3", "0x3f800000", "-inf"};
  const std::vector<std::string> expected = {"--format", "e4m3", "--", "-0.3", "0x3f800000", "-inf"};
  EXPECT_EQ(with_numbers_last(words), expected);
  EXPECT_EQ(with_numbers_last({"-x", "zero"}), (std::vector<std::string>{"-x", "zero", "--"}));
}

}  // namespace
}  // namespace shardcheck::fp8
