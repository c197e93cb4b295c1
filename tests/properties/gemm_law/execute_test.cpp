#include "properties/gemm_law/execute.h"

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "core/numerics/same_code.h"

namespace shardcheck {
namespace {

TEST(ExecuteGemm, ThePlanHasOneOpOnWholeBuffers) {
  GemmCase c;
  c.op = {.m = 8, .n = 4, .k = 16};
  const Plan plan = plan_of(c);
  ASSERT_EQ(plan.ops.size(), 1u);
  EXPECT_EQ(plan.operand(plan.ops[0], 4)[0].numel, 32);
  EXPECT_EQ(plan.operand(plan.ops[0], 2)[0].numel, 0);
}

TEST(ExecuteGemm, DIsTheProduct) {
  GemmCase c;
  c.op = {.m = 1, .n = 2, .k = 2};
  const std::vector<std::uint16_t> a = {0x3F80, 0x4000},
                                   b = {0x4000, 0x4040, 0x3F80, 0x3F80};  // 1 2; 2 3, 1 1
  GemmInputs inputs;
  for (const std::byte byte : std::as_bytes(std::span(a))) inputs.a.push_back(byte);
  for (const std::byte byte : std::as_bytes(std::span(b))) inputs.b.push_back(byte);
  inputs.c.resize(8);
  const auto cpu = make_cpu_backend(kHopper);
  const auto d = execute_gemm(*cpu, c, inputs);
  EXPECT_EQ(value_of_code(DType::f32, code_at(DType::f32, d, 0)), 8);
  EXPECT_EQ(value_of_code(DType::f32, code_at(DType::f32, d, 1)), 3);
}

TEST(LibraryGemmCase, HasSizesThatLibrariesTake) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    Draw draw(1, i);
    const GemmCase c = library_gemm_case(draw);
    EXPECT_EQ((c.op.m | c.op.n | c.op.k) % 16, 0) << describe(c);
    EXPECT_LE(c.op.m, 48);
    EXPECT_LE(c.op.n, 48);
    EXPECT_LE(c.op.k, 1024);
  }
}

}  // namespace
}  // namespace shardcheck
