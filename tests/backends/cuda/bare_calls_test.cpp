// The ceilings can be measured: every bare call runs, takes time, and takes more of it for more work.
#include "backends/cuda/bare_calls.h"

#include <vector>

#include "core/numerics/same_code.h"
#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

using BareCalls = OnGpu;

TEST(RandomCodes, AreNumbersOfBothSigns) {
  for (DType type : {DType::f32, DType::bf16, DType::f16, DType::e4m3, DType::e5m2}) {
    std::vector<std::byte> bytes(4096);
    random_codes(type, bytes);
    int negative = 0;
    const std::int64_t numel = 4096 / bytes_of(type);
    for (std::int64_t i = 0; i < numel; ++i) {
      const double value = value_of_code(type, code_at(type, bytes, i));
      ASSERT_LE(std::abs(value), 2) << name_of(type);
      negative += value < 0 ? 1 : 0;
    }
    EXPECT_GT(negative, numel / 4) << name_of(type);
    EXPECT_LT(negative, 3 * numel / 4) << name_of(type);
  }
}

TEST_F(BareCalls, MoreBytesTakeLonger) {
  EXPECT_GT(bare_copy_seconds(std::int64_t{256} << 20), bare_copy_seconds(std::int64_t{16} << 20));
  EXPECT_GT(bare_collective_seconds(Collective::all_reduce, std::int64_t{64} << 20), 0);
}

TEST_F(BareCalls, MoreProductsTakeLonger) {
  const OperandTypes types{DType::bf16, DType::bf16, DType::f32};
  const auto product = [](std::int64_t side) {
    return Matmul{.m = side, .n = side, .k = side, .a = OperandLayout::plain, .b = OperandLayout::transposed};
  };
  EXPECT_GT(bare_gemm_seconds(product(4096), types), bare_gemm_seconds(product(1024), types));
}

}  // namespace
}  // namespace shardcheck
