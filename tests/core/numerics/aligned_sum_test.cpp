// The step in doubles against the pseudocode of tensor-core 1 in 128-bit integers.
#include "core/numerics/aligned_sum.h"

#include <gtest/gtest.h>

#include "core/numerics/decode.h"
#include "core/numerics/philox.h"

namespace shardcheck {
namespace {

/// s * 2^(e - fraction_bits): e counts as the model says, s is not normalised.
struct Operand {
  std::int64_t s;
  int e;
};

Operand operand_of(const Format& format, std::uint32_t code) {
  const auto mantissa = static_cast<std::int64_t>(code & ((1u << format.mantissa_bits) - 1));
  const int exponent = static_cast<int>((code & format.magnitude_mask()) >> format.mantissa_bits);
  const std::int64_t s = exponent == 0 ? mantissa : mantissa | std::int64_t{1} << format.mantissa_bits;
  return {(code & format.sign_mask()) != 0 ? -s : s, std::max(exponent, 1) - format.bias};
}

/// trunc(s * 2^shift).
__int128 aligned(std::int64_t s, int shift) {
  const __int128 magnitude = s < 0 ? -s : s;
  const __int128 moved = shift >= 0 ? magnitude << shift : (shift < -100 ? 0 : magnitude >> -shift);
  return s < 0 ? -moved : moved;
}

struct Model {
  const Accumulator& rule;
  int fraction_bits;  // of a product
  Operand c{0, 0};    // s * 2^(e - kept_bits)

  void step(const std::vector<Operand>& a, const std::vector<Operand>& b) {
    int largest = -10000;
    if (c.s != 0) largest = c.e;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].s * b[i].s != 0) largest = std::max(largest, a[i].e + b[i].e);
    }
    __int128 sum = aligned(c.s, rule.alignment_bits - rule.kept_bits + c.e - largest);
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum += aligned(a[i].s * b[i].s, rule.alignment_bits - fraction_bits + a[i].e + b[i].e - largest);
    }
    c = {0, 0};
    if (sum == 0) return;
    const bool negative = sum < 0;
    const auto magnitude = static_cast<std::uint64_t>(negative ? -sum : sum);
    const int e =
        std::max(static_cast<int>(std::bit_width(magnitude)) - 1 + largest - rule.alignment_bits, -126);
    const int shift = largest - rule.alignment_bits - (e - rule.kept_bits);
    const auto kept = static_cast<std::int64_t>(aligned(static_cast<std::int64_t>(magnitude), shift));
    c = {negative ? -kept : kept, e};
  }
};

/// Random finite codes: all exponents, or a few around 1 so that terms meet, and every eighth a zero or
/// subnormal.
std::uint32_t random_code(const Format& format, std::uint32_t word, bool wide) {
  std::uint32_t code = word % format.code_count();
  if (!wide) {
    const std::uint32_t near_one = static_cast<std::uint32_t>(format.bias) - 2 + (word >> 20) % 4;
    const std::uint32_t mantissa = code & ((1u << format.mantissa_bits) - 1);
    code = (code & format.sign_mask()) | near_one << format.mantissa_bits | mantissa;
  }
  if ((word >> 26) % 8 == 0) code &= ~(((1u << format.exponent_bits) - 1) << format.mantissa_bits);
  return format.is_nan(code) || format.is_infinity(code) ? 0 : code;
}

void compare(const Format& fa, const Format& fb, const Accumulator& rule, bool wide) {
  for (std::uint64_t trial = 0; trial < 2000; ++trial) {
    AlignedSums sums;
    Model model{rule, fa.mantissa_bits + fb.mantissa_bits};
    for (std::uint64_t step = 0; step < 6; ++step) {
      const auto count = static_cast<std::size_t>(rule.products_per_step) - (step == 5 ? 3 : 0);
      std::vector<Operand> a, b;
      std::vector<double> a_values(count * kLanes), b_values(count);
      std::vector<std::int32_t> a_exponents(count * kLanes, kZeroExponent), b_exponents(count, kZeroExponent);
      for (std::size_t i = 0; i < count; ++i) {
        const auto words = philox(3, trial * 8 + step, i);
        const std::uint32_t a_code = random_code(fa, words[0], wide);
        const std::uint32_t b_code = random_code(fb, words[1], wide);
        a.push_back(operand_of(fa, a_code));
        b.push_back(operand_of(fb, b_code));
        const std::size_t at = i * kLanes + trial % kLanes;
        a_values[at] = decode(fa, a_code);
        b_values[i] = decode(fb, b_code);
        if (a[i].s != 0) a_exponents[at] = a[i].e;
        if (b[i].s != 0) b_exponents[i] = b[i].e;
      }
      model.step(a, b);
      aligned_step(sums, rule, static_cast<int>(count), a_values.data(), a_exponents.data(), b_values.data(),
                   b_exponents.data());
      const double expected = std::ldexp(static_cast<double>(model.c.s), model.c.e - rule.kept_bits);
      if (std::abs(expected) >= 0x1p128) break;  // the model has no word for it
      ASSERT_EQ(sums.value[trial % kLanes], expected) << fa.name << " trial " << trial << " step " << step;
      ASSERT_FALSE(std::signbit(sums.value[trial % kLanes]) && expected == 0) << "zero is +0";
      ASSERT_EQ(sums.value[(trial + 1) % kLanes], 0) << "lanes do not mix";
    }
  }
}

TEST(AlignedSum, StepEqualsTheModelInIntegers) {
  const Format& e4m3 = format_of(FormatId::e4m3);
  const Format& e5m2 = format_of(FormatId::e5m2);
  const Format& bf16 = format_of(FormatId::bf16);
  const Format& f16 = format_of(FormatId::f16);
  for (const bool wide : {false, true}) {
    compare(e4m3, e4m3, kHopper.fp8_fast, wide);
    compare(e4m3, e5m2, kHopper.fp8_promoted, wide);
    compare(f16, f16, kHopper.sixteen_bit, wide);
    compare(bf16, bf16, kHopper.sixteen_bit, wide);
  }
}

}  // namespace
}  // namespace shardcheck
