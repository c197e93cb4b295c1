#include "properties/gemm_law/gemm_inputs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/numerics/same_code.h"

namespace shardcheck {
namespace {

GemmCase case_of(DType a, DType b, OperandFamily family) {
  GemmCase c;
  c.op = {.m = 40, .n = 6, .k = 300};
  c.a = a;
  c.b = b;
  c.operands = family;
  c.seed = 11;
  return c;
}

TEST(GemmInputs, EveryFamilyIsFinite) {
  for (DType type : {DType::bf16, DType::f16, DType::e4m3, DType::e5m2}) {
    for (int family = 0; family < kOperandFamilies; ++family) {
      const GemmInputs inputs = inputs_of(case_of(type, type, static_cast<OperandFamily>(family)));
      std::int64_t zeros = 0;
      for (std::int64_t i = 0; i < 40 * 300; ++i) {
        const double value = value_of_code(type, code_at(type, inputs.a, i));
        ASSERT_TRUE(std::isfinite(value))
            << name_of(type) << " " << name_of(static_cast<OperandFamily>(family));
        zeros += value == 0 ? 1 : 0;
      }
      if (static_cast<OperandFamily>(family) == OperandFamily::sparse) {
        EXPECT_GT(zeros, 10'000);
      }
    }
  }
}

TEST(GemmInputs, OperandsDiffer) {
  const GemmInputs inputs = inputs_of(case_of(DType::e4m3, DType::e4m3, OperandFamily::every_code));
  EXPECT_FALSE(std::equal(inputs.b.begin(), inputs.b.end(), inputs.a.begin()));
}

/// F37: what lies beside the scales is NaN.
TEST(GemmInputs, PaddingIsPoison) {
  GemmCase c = case_of(DType::e4m3, DType::e4m3, OperandFamily::gaussian);
  c.op.scales_a = ScaleKind::block128x128;  // 1 row-block, 3 k-blocks padded to 4
  c.op.scales_b = ScaleKind::vector128;     // 3 k-blocks, 6 rows padded to 8
  c.scales = ScaleFamily::any;
  const GemmInputs inputs = inputs_of(c);
  ASSERT_EQ(inputs.scales_a.size(), 4u);
  ASSERT_EQ(inputs.scales_b.size(), 24u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(std::isnan(inputs.scales_a[i]), i >= 3) << i;
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(std::isnan(inputs.scales_b[i]), i % 8 >= 6) << i;
}

}  // namespace
}  // namespace shardcheck
