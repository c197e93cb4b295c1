#include "properties/fingerprint/dots.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "backends/cpu/cpu_backend.h"
#include "core/numerics/decode.h"
#include "core/numerics/profile.h"
#include "properties/fingerprint/fingerprint.h"

namespace shardcheck {
namespace {

double decoded(DType type, std::uint32_t code) {
  return decode(format_of(*format_id_of(type)), code);
}

/// Every product of the range exists, and is the number that was asked for.
TEST(Dots, ATermIsItsNumber) {
  for (const DotRule& rule : accumulators_to_observe()) {
    const ExponentRange range = normal_products(rule);
    for (int exponent = range.least; exponent <= range.most; ++exponent) {
      for (Significand significand : {Significand::one, Significand::one_and_a_half}) {
        for (bool is_negative : {false, true}) {
          const auto term = term_of(rule, 5, {exponent, significand, is_negative});
          ASSERT_TRUE(term.has_value()) << describe(rule) << " 2^" << exponent;
          const double value = std::ldexp(significand == Significand::one ? 1.0 : 1.5, exponent);
          EXPECT_EQ(decoded(rule.a, term->a) * decoded(rule.b, term->b), is_negative ? -value : value);
          EXPECT_EQ(term->k, 5);
        }
      }
    }
  }
}

TEST(Dots, SubnormalPowersOfTwoHaveCodesAndNothingBelow) {
  EXPECT_EQ(code_of(DType::e4m3, {-9, Significand::one, false}), 0x01u);
  EXPECT_EQ(code_of(DType::e4m3, {-7, Significand::one, true}), 0x84u);
  EXPECT_EQ(code_of(DType::e4m3, {-10, Significand::one, false}), std::nullopt);
  EXPECT_EQ(code_of(DType::e4m3, {-7, Significand::one_and_a_half, false}), std::nullopt);
  EXPECT_EQ(code_of(DType::e4m3, {9, Significand::one, false}), std::nullopt);
}

/// Each dot product lands in its own place, by both ops, with and without C.
TEST(Dots, TheDiagonalHoldsTheResults) {
  const auto cpu = make_cpu_backend(kIdeal);
  for (GemmOp op : {GemmOp::matmul, GemmOp::wgrad}) {
    const DotRule rule{.op = op};
    std::vector<Dot> dots;
    for (int i = 0; i < kDotsAtOnce; ++i) {
      const SimpleNumber number{i % 7, Significand::one_and_a_half, i % 2 == 0};
      dots.push_back({*term_of(rule, i, number), *term_of(rule, 63 - i, {0, Significand::one, false})});
    }
    const std::vector<std::uint32_t> c(dots.size(), std::bit_cast<std::uint32_t>(10.0f));
    for (const DotSetting& setting : {DotSetting{.k = 64}, DotSetting{.k = 64, .c = c}}) {
      const auto results = multiply(*cpu, rule, dots, setting);
      for (int i = 0; i < kDotsAtOnce; ++i) {
        const double product = std::ldexp(i % 2 == 0 ? -1.5 : 1.5, i % 7) + 1;
        EXPECT_EQ(std::bit_cast<float>(results[static_cast<std::size_t>(i)]),
                  product + (setting.c.empty() ? 0 : 10));
      }
    }
  }
}

TEST(Dots, AProbeShowsTermsAndResult) {
  const DotRule rule{.a = DType::e4m3, .b = DType::e5m2};
  const Probe probe = probe_of(rule, {{3, 0x38, 0x3C}}, {.k = 32}, 0x3F800000);
  EXPECT_EQ(probe.op, "GEMM e4m3 x e5m2, promoted -> f32, K 32");
  EXPECT_EQ(probe.inputs[0].codes, std::vector<std::string>{"3"});
  EXPECT_EQ(probe.inputs[1].codes, std::vector<std::string>{"0x38"});
  EXPECT_EQ(probe.outputs[0].codes, std::vector<std::string>{"0x3f800000"});
}

}  // namespace
}  // namespace shardcheck
