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
  using Rule = gpu::Step<E, E>;
  float sum = 0.0f;
  for (std::size_t token = 0; token < x.size(); token += Rule::kProducts) {
    int products[Rule::kProducts], exponents[Rule::kProducts];
    for (std::size_t k = 0; k < Rule::kProducts; ++k) {
      const bool exists = token + k < x.size();
      const gpu::Operand a = gpu::operand_of<E>(exists ? dy[token + k] : std::uint16_t{0});
      const gpu::Operand b = gpu::operand_of<E>(exists ? x[token + k] : std::uint16_t{0});
      products[k] = a.significand * b.significand;
      exponents[k] = a.exponent + b.exponent;
    }
    sum = gpu::tensor_core_step<Rule>(sum, products, exponents);
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

/// One output of FP8 operands with one running accumulator, as the kernel walks K.
template <class A, class B>
float fp8_product_of(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  using Rule = gpu::Step<A, B>;
  float sum = 0.0f;
  for (std::size_t first = 0; first < a.size(); first += Rule::kProducts) {
    int products[Rule::kProducts], exponents[Rule::kProducts];
    for (std::size_t i = 0; i < Rule::kProducts; ++i) {
      const bool exists = first + i < a.size();
      const gpu::Operand x = gpu::operand_of<A>(exists ? a[first + i] : std::uint8_t{0});
      const gpu::Operand y = gpu::operand_of<B>(exists ? b[first + i] : std::uint8_t{0});
      products[i] = x.significand * y.significand;
      exponents[i] = x.exponent + y.exponent;
    }
    sum = gpu::tensor_core_step<Rule>(sum, products, exponents);
  }
  return sum;
}

/// Any codes, NaN and infinity among them in one case of four; `largest` bounds the magnitude codes
/// otherwise.
template <class A, class B>
void compare_fp8(FormatId format_a, FormatId format_b) {
  RandomNumbers random(static_cast<std::uint64_t>(format_a) * 16 + static_cast<std::uint64_t>(format_b));
  for (int i = 0; i < 6000; ++i) {
    const auto k = static_cast<std::size_t>(1 + random.below(140));
    std::vector<std::uint8_t> a(k), b(k);
    const auto draw = [&](const Format& format) {
      const auto limit = i % 4 == 0 ? 0x80u : i % 4 == 1 ? 0x10u : format.max_code + 1;
      return static_cast<std::uint8_t>(random.below(limit) | random.below(2) << 7);
    };
    for (auto& code : a) code = draw(format_of(format_a));
    for (auto& code : b) code = draw(format_of(format_b));
    const float one = 1.0f;
    const auto length = static_cast<std::int64_t>(k);
    const GemmProblem problem{.m = 1,
                              .n = 1,
                              .k = length,
                              .a = {format_a, std::as_bytes(std::span(a)), length, 1},
                              .b = {format_b, std::as_bytes(std::span(b)), length, 1},
                              .scale_mode_a = ScaleMode::tensor,
                              .scale_mode_b = ScaleMode::tensor,
                              .scales_a = std::span(&one, 1),
                              .scales_b = std::span(&one, 1),
                              .alpha = 1.0f,
                              .beta = GemmBeta::zero,
                              .output = DType::f32,
                              .fast_accumulation = FastAccumulation::on,
                              .split_k = 1};
    float expected = 0;
    gemm(kHopper, problem, {}, std::as_writable_bytes(std::span(&expected, 1)));
    const float found = fp8_product_of<A, B>(a, b);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected))
        << "K " << k << ", case " << i << ": " << found << ", expected " << expected;
  }
}

TEST(TensorCore, Fp8IsTheProfile) {
  compare_fp8<gpu::E4m3, gpu::E4m3>(FormatId::e4m3, FormatId::e4m3);
  compare_fp8<gpu::E4m3, gpu::E5m2>(FormatId::e4m3, FormatId::e5m2);
  compare_fp8<gpu::E5m2, gpu::E4m3>(FormatId::e5m2, FormatId::e4m3);
}

}  // namespace
}  // namespace shardcheck
