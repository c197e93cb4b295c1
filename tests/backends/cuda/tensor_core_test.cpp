// The emulated tensor core, compiled for the host, against the profile `hopper`.
#include "tests/backends/cuda/device_on_host.h"
// The shim above comes first.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cuda/tensor_core.cuh"
#include "core/numerics/gemm.h"
#include "tests/backends/cuda/random_numbers.h"

namespace shardcheck {
namespace {

std::vector<std::uint16_t> codes_of(const std::vector<std::byte>& bytes) {
  std::vector<std::uint16_t> codes(bytes.size() / 2);
  std::memcpy(codes.data(), bytes.data(), bytes.size());
  return codes;
}

/// One output, as the kernel walks K.
template <class E>
float product_of(const std::vector<std::uint16_t>& dy, const std::vector<std::uint16_t>& x) {
  float sum = 0.0f;
  for (std::size_t token = 0; token < x.size(); token += gpu::kStepProducts) {
    int products[gpu::kStepProducts], exponents[gpu::kStepProducts];
    for (std::size_t k = 0; k < gpu::kStepProducts; ++k) {
      const bool exists = token + k < x.size();
      const gpu::Operand a = gpu::operand_of<E>(exists ? dy[token + k] : std::uint16_t{0});
      const gpu::Operand b = gpu::operand_of<E>(exists ? x[token + k] : std::uint16_t{0});
      products[k] = a.significand * b.significand;
      exponents[k] = a.exponent + b.exponent;
    }
    sum = gpu::tensor_core_step<E>(sum, products, exponents);
  }
  return sum;
}

template <class E>
void compare(DType type, int binades, Corners corners) {
  RandomNumbers random(static_cast<std::uint64_t>(binades) + 7);
  for (int i = 0; i < 4000; ++i) {
    const auto tokens = static_cast<std::int64_t>(1 + random.below(80));
    const auto dy = random.bytes(type, tokens, binades, corners),
               x = random.bytes(type, tokens, binades, corners);
    float expected = 0;
    wgrad(kHopper, type, dy, x, tokens, 1, 1, false, DType::f32,
          std::as_writable_bytes(std::span(&expected, 1)));
    const float found = product_of<E>(codes_of(dy), codes_of(x));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected))
        << tokens << " tokens, case " << i << ": " << found << ", expected " << expected;
  }
}

TEST(TensorCore, Bf16IsTheProfile) {
  for (int binades : {0, 2, 12, 60, 120}) compare<gpu::Bf16>(DType::bf16, binades, Corners::finite);
}
TEST(TensorCore, F16IsTheProfile) {
  for (int binades : {0, 2, 6, 13}) compare<gpu::F16>(DType::f16, binades, Corners::finite);
}
/// Both write NaN as the canonical one, so that even here the bits agree.
TEST(TensorCore, NanAndInfinityHaveTheirClass) {
  compare<gpu::Bf16>(DType::bf16, 12, Corners::all);
  compare<gpu::F16>(DType::f16, 12, Corners::all);
}

TEST(TensorCore, LargestProductsDoNotOverflow) {
  for (std::size_t tokens : {1, 16, 17, 64}) {
    const std::vector<std::uint16_t> some(tokens, 0x3FFF), negative(tokens, 0xBFFF);
    for (DType type : {DType::bf16, DType::f16}) {
      for (const auto& dy : {some, negative}) {
        float expected = 0;
        wgrad(kHopper, type, std::as_bytes(std::span(dy)), std::as_bytes(std::span(some)),
              static_cast<std::int64_t>(tokens), 1, 1, false, DType::f32,
              std::as_writable_bytes(std::span(&expected, 1)));
        EXPECT_EQ(type == DType::bf16 ? product_of<gpu::Bf16>(dy, some) : product_of<gpu::F16>(dy, some),
                  expected);
      }
    }
  }
}

}  // namespace
}  // namespace shardcheck
