// The bound of a product: above every error of the profile that it is of, and not far above.
#include "properties/product_law/product_bound.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/numerics/same_code.h"
#include "properties/gemm_law/gemm_law.h"

namespace shardcheck {
namespace {

GemmCase every_code_case(std::int64_t k) {
  GemmCase c;
  c.op = {.m = 8, .n = 4, .k = k, .scales_a = ScaleKind::tensor, .scales_b = ScaleKind::tensor};
  c.a = c.b = DType::e4m3;
  c.operands = OperandFamily::every_code;
  c.seed = 3;
  return c;
}

/// Largest share of the bound that an output uses.
double used(const GemmCase& c, const GemmInputs& inputs) {
  const std::vector<std::byte> d = gemm_by_profile(kHopper, c, inputs);
  const auto outputs = bounded_outputs(&kHopper, c, inputs);
  double most = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const double actual = value_of_code(c.d, code_at(c.d, d, static_cast<std::int64_t>(i)));
    most = std::max(most, std::abs(actual - outputs[i].exact) / outputs[i].bound);
  }
  return most;
}

TEST(ProductBound, HoldsAndIsTight) {
  for (const std::int64_t k : {32, 128, 512, 1000}) {
    GemmCase c = every_code_case(k);
    const double share = used(c, inputs_of(c));
    EXPECT_LT(share, 1) << k;
    EXPECT_GT(share, 0.005) << k;
    c.op.fast_accumulation = true;
    EXPECT_LT(used(c, inputs_of(c)), 1) << k;
  }
}

TEST(ProductBound, OfNothingIsHardlyAnything) {
  GemmCase c = every_code_case(64);
  GemmInputs inputs = inputs_of(c);
  std::fill(inputs.a.begin(), inputs.a.end(), std::byte{0});
  for (const BoundedOutput& output : bounded_outputs(nullptr, c, inputs)) {
    EXPECT_EQ(output.exact, 0);
    EXPECT_LT(output.bound, 0x1p-140);
    EXPECT_FALSE(output.overflows);
  }
}

}  // namespace
}  // namespace shardcheck
