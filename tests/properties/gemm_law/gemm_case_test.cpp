#include "properties/gemm_law/gemm_case.h"

#include <gtest/gtest.h>

#include <set>

#include "core/numerics/gemm.h"

namespace shardcheck {
namespace {

TEST(GemmCase, OneSeedIsOneCase) {
  Draw first(7, 3), second(7, 3);
  EXPECT_EQ(describe(random_gemm_case(first)), describe(random_gemm_case(second)));
}

/// Every row of the model comes up within a few hundred cases: 16-bit sums, fast and promoted FP8, every
/// order of scales, every output.
TEST(GemmCase, EveryRowIsReached) {
  std::set<std::string> rows;
  std::set<OperandFamily> families;
  for (std::uint64_t i = 0; i < 1500; ++i) {
    Draw draw(1, i);
    const GemmCase c = random_gemm_case(draw);
    rows.insert(model_row(kHopper, c));
    families.insert(c.operands);
    EXPECT_LE(c.op.m * c.op.n * c.op.k, std::int64_t{1} << 23) << describe(c);
    EXPECT_GT(c.op.m * c.op.n * c.op.k, 0) << describe(c);
  }
  // 16-bit: 3 outputs, 2 betas. FP8: 3 outputs, 2 betas, and tensor or outer vector (each fast or promoted),
  // or one of two orders of block scales.
  EXPECT_EQ(rows.size(), 6u + 6u * (2 * 2 + 2));
  EXPECT_EQ(families.size(), static_cast<std::size_t>(kOperandFamilies));
}

TEST(GemmCase, IsToldInOneLine) {
  GemmCase c;
  c.op = {.m = 256,
          .n = 17,
          .k = 512,
          .scales_a = ScaleKind::vector128,
          .scales_b = ScaleKind::block128x128,
          .accumulate = true};
  c.a = DType::e4m3;
  c.b = DType::e5m2;
  c.d = DType::bf16;
  c.scales = ScaleFamily::any;
  c.operands = OperandFamily::wide_exponents;
  c.seed = 7;
  EXPECT_EQ(describe(c),
            "TN 256 x 17 x 512, e4m3 x e5m2 -> bf16, beta 1, scales 1x128 x 128x128 (any), wide exponents, "
            "seed 7");
  EXPECT_EQ(model_row(kHopper, c),
            "FP8, promoted (n 32, F 13, P 13); y = fma(p, RN(sa sb), y), z = RN(alpha y); bf16 output, D = "
            "RN16(RN16(z) + C)");
  EXPECT_EQ(model_row(kIdeal, c), "the exact sum, rounded once");
}

}  // namespace
}  // namespace shardcheck
