// The front: what a profile refuses, and that wgrad is the transposed GEMM with the chip's roundings.
#include "core/numerics/gemm.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/numerics/narrow.h"

namespace shardcheck {
namespace {

GemmProblem problem_of(FormatId a, FormatId b, ScaleMode scale_a, ScaleMode scale_b) {
  return {.m = 0,
          .n = 0,
          .k = 0,
          .a = {a, {}, 0, 0},
          .b = {b, {}, 0, 0},
          .scale_mode_a = scale_a,
          .scale_mode_b = scale_b,
          .scales_a = {},
          .scales_b = {},
          .alpha = 1,
          .beta = GemmBeta::zero,
          .output = DType::f32,
          .fast_accumulation = FastAccumulation::off,
          .split_k = 1};
}

TEST(Gemm, RefusesWhatWasNotMeasured) {
  using enum FormatId;
  constexpr auto kNone = ScaleMode::none;
  constexpr auto kTensor = ScaleMode::tensor;
  constexpr auto kBlock = ScaleMode::block128x128;
  const auto refused = [](const ArithmeticProfile& profile, const GemmProblem& problem) {
    return unsupported_reason(profile, problem).has_value();
  };
  EXPECT_FALSE(refused(kHopper, problem_of(bf16, bf16, kNone, kNone)));
  EXPECT_TRUE(refused(kHopper, problem_of(bf16, f16, kNone, kNone)));
  EXPECT_TRUE(refused(kHopper, problem_of(f32, f32, kNone, kNone)));
  EXPECT_FALSE(refused(kIdeal, problem_of(f32, f32, kNone, kNone)));
  EXPECT_TRUE(refused(kHopper, problem_of(e5m2, e5m2, kTensor, kTensor)));
  EXPECT_FALSE(refused(kHopper, problem_of(e5m2, e4m3, kTensor, kTensor)));
  EXPECT_TRUE(refused(kHopper, problem_of(e4m3, e4m3, kTensor, ScaleMode::outer_vector)));
  EXPECT_TRUE(refused(kHopper, problem_of(e4m3, e4m3, kBlock, kBlock)));
  GemmProblem block = problem_of(e4m3, e4m3, kBlock, ScaleMode::vector128);
  EXPECT_FALSE(refused(kHopper, block));
  block.alpha = 0.5f;
  EXPECT_FALSE(refused(kHopper, block)) << "measured: alpha comes last";
  block.split_k = 2;
  EXPECT_TRUE(refused(kHopper, block));
  EXPECT_FALSE(refused(kIdeal, block));
}

TEST(Gemm, ScaleCountsHoldPadding) {
  EXPECT_EQ(scale_count(ScaleMode::vector128, 33, 129), 2 * 36);
  EXPECT_EQ(scale_count(ScaleMode::block128x128, 129, 640), 2 * 8);
  EXPECT_EQ(scale_count(ScaleMode::outer_vector, 33, 129), 33);
}

std::uint16_t bf16_gradient(const ArithmeticProfile& profile, float x, float dy, float before) {
  const std::uint16_t x_code = f32_to_bf16(x);
  const std::uint16_t dy_code = f32_to_bf16(dy);
  std::uint16_t destination = f32_to_bf16(before);
  wgrad(profile, DType::bf16, std::as_bytes(std::span(&dy_code, 1)), std::as_bytes(std::span(&x_code, 1)), 1,
        1, 1, true, DType::bf16, std::as_writable_bytes(std::span(&destination, 1)));
  return destination;
}

TEST(Gemm, HopperRoundsANarrowGradientTwice) {
  // The product (1 + 2^-7)^2 = 1 + 2^-6 + 2^-14 rounds to 1 + 2^-6 in bf16. With 4 that is a tie between 5
  // and 5 + 2^-5, which goes to the even 5; the exact sum lies above the tie.
  const float factor = 1 + 0x1p-7f;
  EXPECT_EQ(bf16_to_f32(bf16_gradient(kIdeal, factor, factor, 4)), 5.03125f);
  EXPECT_EQ(bf16_to_f32(bf16_gradient(kHopper, factor, factor, 4)), 5.0f);
}

TEST(Gemm, WgradIsOutByIn) {
  // tokens 2, out 2, in 3: destination[o][i] = sum over t of dy[t][o] * x[t][i].
  const float dy[] = {1, 2, 10, 20};
  const float x[] = {1, 2, 3, 4, 5, 6};
  std::vector<float> destination(6, 100);
  wgrad(kIdeal, DType::f32, std::as_bytes(std::span(dy)), std::as_bytes(std::span(x)), 2, 2, 3, true,
        DType::f32, std::as_writable_bytes(std::span(destination)));
  EXPECT_EQ(destination, (std::vector<float>{141, 152, 163, 182, 204, 226}));
}

}  // namespace
}  // namespace shardcheck
