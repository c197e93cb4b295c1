// The sums and products that claim one rounding, against exact arithmetic, where two roundings would show.
#include "backends/cpu/rounded.h"

#include <gtest/gtest.h>

#include "tests/backends/oracle.h"

namespace shardcheck::cpu {
namespace {

using test::random_code;
using test::random_number;
using test::same;
using test::value_of;

template <class E>
constexpr DType kType = std::is_same_v<E, F32>    ? DType::f32
                        : std::is_same_v<E, Bf16> ? DType::bf16
                                                  : DType::f16;

template <class E>
std::uint32_t code_of(typename E::Stored stored) {
  if constexpr (std::is_same_v<E, F32>) {
    return std::bit_cast<std::uint32_t>(stored);
  } else {
    return stored;
  }
}

template <class D, class S>
void check_sum(std::uint32_t a, std::uint32_t b) {
  const double terms[] = {value_of(kType<D>, a), value_of(kType<S>, b)};
  const auto sum = code_of<D>(rounded_sum<D, S>(static_cast<float>(terms[0]), static_cast<float>(terms[1])));
  const std::uint32_t expected = test::rounded_sum(kType<D>, terms);
  ASSERT_TRUE(same(kType<D>, sum, expected)) << name_of(kType<D>) << " " << a << " + " << name_of(kType<S>)
                                             << " " << b << " = " << sum << ", not " << expected;
}

template <class D, class S>
void check_sums() {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    check_sum<D, S>(random_code(kType<D>, random), random_code(kType<S>, random));
    check_sum<D, S>(random_number(kType<D>, random), random_number(kType<S>, random));
  }
}

TEST(RoundedSum, IsOneRoundingForEveryPairOfTypes) {
  check_sums<F32, F32>();
  check_sums<F32, Bf16>();
  check_sums<F32, F16>();
  check_sums<Bf16, F32>();
  check_sums<Bf16, Bf16>();
  check_sums<Bf16, F16>();
  check_sums<F16, F32>();
  check_sums<F16, Bf16>();
  check_sums<F16, F16>();
}

/// The proof in rounded.h for equal 16-bit types, at every distance of exponents with every low pattern that
/// decides.
TEST(RoundedSum, HoldsAtEveryDistanceOfExponents) {
  for (std::uint32_t high = 0x3F80; high < 0x4000; high += 7) {
    for (std::uint32_t low = 0; low < 0x3F80; low += 3) {
      check_sum<Bf16, Bf16>(high, low);
      check_sum<Bf16, Bf16>(high, low | 0x8000);
    }
  }
  for (std::uint32_t high = 0x7800; high < 0x7C00; high += 31) {
    for (std::uint32_t low = 0; low < 0x7C00; low += 17) {
      check_sum<F16, F16>(high, low);
      check_sum<F16, F16>(high, low | 0x8000);
    }
  }
}

/// fp32 into bf16: a hair decides a tie, and neither fp32 nor double holds it beside the sum.
TEST(RoundedSum, SeesAHairBesideATie) {
  const float tie = 1.0f + 0x1p-8f;
  EXPECT_EQ((rounded_sum<Bf16, F32>(1.0f, 0x1p-8f)), 0x3F80);
  EXPECT_EQ((rounded_sum<Bf16, F32>(0x1p-100f, tie)), 0x3F81);
  EXPECT_EQ((rounded_sum<Bf16, F32>(-0x1p-100f, tie)), 0x3F80);
}

template <class E>
void check_product(std::uint32_t x, float factor) {
  const double exact = value_of(kType<E>, x) * factor;  // at most 24 + 24 bits, exponents within +-298
  with_product<E>(factor, [&](auto product) {
    const auto code = code_of<E>(product(static_cast<float>(value_of(kType<E>, x))));
    const std::uint32_t expected = test::rounded(kType<E>, exact);
    ASSERT_TRUE(same(kType<E>, code, expected))
        << name_of(kType<E>) << " " << x << " * " << factor << " = " << code << ", not " << expected;
  });
}

template <class E>
void check_products() {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint32_t x = i % 2 == 0 ? random_code(kType<E>, random) : random_number(kType<E>, random);
    const auto any = static_cast<float>(value_of(DType::f32, random_code(DType::f32, random)));
    const auto short_factor = static_cast<float>(value_of(DType::bf16, random_code(DType::bf16, random)));
    check_product<E>(x, any);
    check_product<E>(x, short_factor);
    check_product<E>(x, 1.0f / static_cast<float>(1 + i % 1000));
  }
}

TEST(Product, IsOneRoundingForEveryTypeAndFactor) {
  check_products<F32>();
  check_products<Bf16>();
  check_products<F16>();
}

/// The case that fp32 and then bf16 gets wrong.
TEST(Product, DoesNotRoundTwice) {
  EXPECT_EQ(Bf16::narrow(1.7578125f * 0x1.4b17e4p0f), 0x4012);
  check_product<Bf16>(Bf16::narrow(1.7578125f), 0x1.4b17e4p0f);
  with_product<Bf16>(0x1.4b17e4p0f, [](auto product) { EXPECT_EQ(product(1.7578125f), 0x4011); });
}

TEST(Product, ExactnessInFp32IsClaimedOnlyWhereItHolds) {
  std::mt19937_64 random(4);
  int claimed = 0;
  for (int i = 0; i < 200'000; ++i) {
    const auto factor = static_cast<float>(value_of(DType::bf16, random_code(DType::bf16, random)));
    const auto x = static_cast<float>(value_of(DType::bf16, random_code(DType::bf16, random)));
    if (!product_is_exact_in_f32<Bf16>(factor) || !std::isfinite(x * factor)) continue;
    ++claimed;
    ASSERT_EQ(static_cast<double>(x) * factor, static_cast<double>(x * factor)) << x << " * " << factor;
  }
  EXPECT_GT(claimed, 50'000);
  EXPECT_TRUE(product_is_exact_in_f32<Bf16>(0.125f));
  EXPECT_TRUE(product_is_exact_in_f32<F16>(0.125f));
  EXPECT_FALSE(product_is_exact_in_f32<Bf16>(1.0f / 3));
}

}  // namespace
}  // namespace shardcheck::cpu
