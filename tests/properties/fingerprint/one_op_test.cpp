#include "properties/fingerprint/one_op.h"

#include <gtest/gtest.h>

#include <array>

#include "backends/cpu/cpu_backend.h"
#include "core/numerics/profile.h"

namespace shardcheck {
namespace {

TEST(OneOp, CodesGoThroughBytes) {
  const std::array<std::uint32_t, 3> codes = {0x3F80, 1, 0xFFFF};
  EXPECT_EQ(codes_of_bytes(DType::bf16, bytes_of_codes(DType::bf16, codes)),
            std::vector<std::uint32_t>(codes.begin(), codes.end()));
}

TEST(OneOp, TheLastOperandComesBackFromEveryRank) {
  const auto cpu = make_cpu_backend(kIdeal);
  OpOperand inputs{DType::f32, {}}, outputs{DType::f32, {}};
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const std::array one = {0x3F800000u}, zero = {0u};
    inputs.ranks.push_back(bytes_of_codes(DType::f32, one));
    outputs.ranks.push_back(bytes_of_codes(DType::f32, zero));
  }
  const std::array operands = {inputs, outputs};
  const OpOperand result = execute_op(*cpu, Communicate{Collective::all_reduce, Reduction::sum, 3}, operands);
  for (const auto& bytes : result.ranks)
    EXPECT_EQ(codes_of_bytes(DType::f32, bytes), std::vector<std::uint32_t>{0x40400000u});
}

}  // namespace
}  // namespace shardcheck
