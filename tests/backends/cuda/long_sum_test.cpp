// The exact sum of kernels, compiled for the host, against the profile `ideal`.
#include "tests/backends/cuda/device_on_host.h"
// The shim above comes first.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cuda/long_sum.cuh"
#include "core/numerics/gemm.h"
#include "tests/backends/cuda/random_numbers.h"

namespace shardcheck {
namespace {

float value_at(DType type, const std::vector<std::byte>& bytes, std::int64_t i) {
  if (type == DType::f32) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i * 4, 4);
    return value;
  }
  std::uint16_t code = 0;
  std::memcpy(&code, bytes.data() + i * 2, 2);
  return type == DType::bf16 ? bf16_to_f32(code) : f16_to_f32(code);
}

template <class D>
void compare(DType operand, DType output, int binades, Corners corners) {
  RandomNumbers random(static_cast<std::uint64_t>(binades) + 11);
  for (int i = 0; i < 3000; ++i) {
    const auto tokens = static_cast<std::int64_t>(1 + random.below(20));
    const bool accumulate = random.below(2) == 1;
    const auto dy = random.bytes(operand, tokens, binades, corners);
    const auto x = random.bytes(operand, tokens, binades, corners);
    std::vector<std::byte> expected = random.bytes(output, 1, binades, corners);
    gpu::LongSum sum;
    if (accumulate) gpu::add_value(sum, value_at(output, expected, 0));
    for (std::int64_t t = 0; t < tokens; ++t) {
      gpu::add_product(sum, value_at(operand, dy, t), value_at(operand, x, t));
    }
    const typename D::Stored found = gpu::rounded<D>(sum);
    wgrad(kIdeal, operand, dy, x, tokens, 1, 1, accumulate, output, expected);
    typename D::Stored code{};
    std::memcpy(&code, expected.data(), sizeof code);
    const float expected_value = value_at(output, expected, 0);
    if (expected_value != expected_value) {  // the class alone is specified
      ASSERT_NE(D::widen(found), D::widen(found));
    } else {
      ASSERT_EQ(found, code) << "case " << i << ", " << tokens << " tokens";
    }
  }
}

template <class D>
void compare_all(DType output) {
  for (DType operand : {DType::f32, DType::bf16, DType::f16}) {
    for (int binades : {1, 12, 60, 120}) compare<D>(operand, output, binades, Corners::finite);
    compare<D>(operand, output, 12, Corners::all);
  }
}

TEST(LongSum, F32IsTheProfile) {
  compare_all<gpu::F32>(DType::f32);
}
TEST(LongSum, Bf16IsTheProfile) {
  compare_all<gpu::Bf16>(DType::bf16);
}
TEST(LongSum, F16IsTheProfile) {
  compare_all<gpu::F16>(DType::f16);
}

}  // namespace
}  // namespace shardcheck
