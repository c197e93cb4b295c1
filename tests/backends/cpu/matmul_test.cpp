// A GEMM op against gemm() on operands that the test lays out itself, and what a profile has no rule for.
#include "backends/cpu/matmul.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/numerics/decode.h"
#include "tests/backends/rig.h"

namespace shardcheck::test {
namespace {

/// Small integers of type bf16: row i of op(A) is i + 1 + k, column j of op(B) is 2 j + k.
struct Sides {
  std::int64_t m, n, k;
  std::uint32_t a(std::int64_t row, std::int64_t i) const {
    return rounded(DType::bf16, static_cast<double>(row + 1 + i));
  }
  std::uint32_t b(std::int64_t column, std::int64_t i) const {
    return rounded(DType::bf16, static_cast<double>(2 * column + i));
  }
  double product(std::int64_t row, std::int64_t column) const {
    double sum = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      sum += static_cast<double>((row + 1 + i) * (2 * column + i));
    }
    return sum;
  }
};

TEST(Matmul, LayoutsAreThoseOfTheLibrary) {
  const Sides sides{3, 2, 5};
  for (const char* profile : {"ideal", "hopper"}) {
    for (OperandLayout layout_a : {OperandLayout::transposed, OperandLayout::plain}) {
      for (OperandLayout layout_b : {OperandLayout::transposed, OperandLayout::plain}) {
        for (bool accumulate : {false, true}) {
          Rig rig("cpu", profile, 1);
          const View a = rig.buffer(DType::bf16, 15), b = rig.buffer(DType::bf16, 10);
          const View none = rig.buffer(DType::f32, 0), d = rig.buffer(DType::f32, 6);
          Codes codes_a(15), codes_b(10);
          for (std::int64_t i = 0; i < sides.k; ++i) {
            // Column-major k x m, or m x k; and k x n, or n x k.
            for (std::int64_t row = 0; row < sides.m; ++row) {
              const bool by_k = layout_a == OperandLayout::transposed;
              codes_a[static_cast<std::size_t>(by_k ? row * sides.k + i : i * sides.m + row)] =
                  sides.a(row, i);
            }
            for (std::int64_t column = 0; column < sides.n; ++column) {
              const bool by_k = layout_b == OperandLayout::plain;
              codes_b[static_cast<std::size_t>(by_k ? column * sides.k + i : i * sides.n + column)] =
                  sides.b(column, i);
            }
          }
          rig.write(0, a, codes_a);
          rig.write(0, b, codes_b);
          rig.write(0, none, {});
          rig.write(0, d, Codes(6, rounded(DType::f32, 0.5)));
          rig
              .op(Matmul{
                  .m = 3, .n = 2, .k = 5, .a = layout_a, .b = layout_b, .accumulate = accumulate, .alpha = 2})
              .on(a)
              .on(b)
              .on(none)
              .on(none)
              .on(d);
          rig.run();
          const Codes found = rig.read(0, d);
          for (std::int64_t row = 0; row < 3; ++row) {
            for (std::int64_t column = 0; column < 2; ++column) {
              EXPECT_EQ(value_of(DType::f32, found[static_cast<std::size_t>(column * 3 + row)]),
                        2 * sides.product(row, column) + (accumulate ? 0.5 : 0.0));
            }
          }
        }
      }
    }
  }
}

/// F66 6.5 (d): 512 products of 1.875^2 give 1798 promoted and 1793.5 fast; exact is 1800.
TEST(Matmul, Fp8FollowsTheProfile) {
  struct Expected {
    const char* profile;
    bool fast;
    double value;
  };
  for (const Expected& expected : {Expected{"hopper", false, 1798.0}, Expected{"hopper", true, 1793.5},
                                   Expected{"ideal", false, 1800.0}}) {
    Rig rig("cpu", expected.profile, 2);
    const View a = rig.buffer(DType::e4m3, 512), b = rig.buffer(DType::e4m3, 512);
    const View scale = rig.buffer(DType::f32, 1), d = rig.buffer(DType::f32, 1);
    for (std::int32_t rank : {0, 1}) {
      rig.write(rank, a, Codes(512, 0x3F));
      rig.write(rank, b, Codes(512, 0x3F));
      rig.write(rank, scale, {rounded(DType::f32, rank + 1)});
      rig.write(rank, d, {0x7FC00000u});
    }
    rig.op(Matmul{.m = 1,
                  .n = 1,
                  .k = 512,
                  .scales_a = ScaleKind::tensor,
                  .scales_b = ScaleKind::tensor,
                  .fast_accumulation = expected.fast})
        .on(a)
        .on(b)
        .on(scale)
        .on(scale)
        .on(d);
    rig.run();
    EXPECT_EQ(value_of(DType::f32, rig.read(0, d)[0]), expected.value) << expected.profile;
    EXPECT_EQ(value_of(DType::f32, rig.read(1, d)[0]), 4 * expected.value) << expected.profile;
  }
}

std::string sentence_of(const std::string& profile, const Matmul& matmul, DType type) {
  Rig rig("cpu", profile, 1);
  const View a = rig.buffer(type, 16), b = rig.buffer(type, 16);
  const View scales = rig.buffer(DType::f32, 4), d = rig.buffer(DType::f32, 1);
  for (View view : {a, b, scales, d}) rig.write(0, view, Codes(static_cast<std::size_t>(view.numel)));
  rig.op(matmul).on(a).on(b).on(scales).on(scales).on(d);
  try {
    rig.run();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  return "accepted";
}

TEST(Matmul, WhatTheProfileHasNoRuleForIsRefused) {
  const Matmul plain{.m = 1, .n = 1, .k = 16};
  Matmul scaled = plain;
  scaled.scales_a = scaled.scales_b = ScaleKind::tensor;
  Matmul blocks = plain;
  blocks.scales_a = blocks.scales_b = ScaleKind::block128x128;
  EXPECT_EQ(sentence_of("hopper", plain, DType::f32),
            "GEMM f32 x f32 to f32: profile hopper has no rule for f32 x f32 operands");
  EXPECT_EQ(sentence_of("hopper", scaled, DType::e5m2),
            "GEMM e5m2 x e5m2 to f32: profile hopper has no rule for e5m2 x e5m2 operands with promotion");
  EXPECT_EQ(sentence_of("hopper", blocks, DType::e4m3),
            "GEMM e4m3 x e4m3 to f32: 128x128 scales on both operands are not offered by any library");
  EXPECT_EQ(sentence_of("ideal", plain, DType::f32), "accepted");
  EXPECT_EQ(sentence_of("hopper", scaled, DType::e4m3), "accepted");
}

}  // namespace
}  // namespace shardcheck::test
