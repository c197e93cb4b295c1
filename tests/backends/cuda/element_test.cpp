// The element types of kernels, compiled for the host, against core/numerics/narrow.h and
// backends/cpu/rounded.h.
#include "tests/backends/cuda/device_on_host.h"
// The shim above comes first.
#include <gtest/gtest.h>

#include "backends/cpu/rounded.h"
#include "backends/cuda/element.cuh"
#include "tests/backends/cuda/random_numbers.h"

namespace shardcheck {
namespace {

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

TEST(Element, EveryCodeWidensAsInTheReference) {
  for (std::uint32_t code = 0; code < 0x10000u; ++code) {
    const auto narrow = static_cast<std::uint16_t>(code);
    ASSERT_EQ(bits(gpu::Bf16::widen(narrow)), bits(bf16_to_f32(narrow))) << code;
    ASSERT_EQ(bits(gpu::F16::widen(narrow)), bits(f16_to_f32(narrow))) << code;
  }
}

TEST(Element, NarrowingIsThatOfTheReference) {
  // An odd stride meets every exponent, ties and their neighbours included below.
  for (std::uint64_t code = 0; code < 0x100000000u; code += 9973) {
    const auto any = static_cast<std::uint32_t>(code);
    for (std::uint32_t near : {any, any & ~0xFFFFu, (any & ~0xFFFFu) | 0x8000u, (any & ~0x1FFFu) | 0x1000u}) {
      const float value = std::bit_cast<float>(near);
      ASSERT_EQ(gpu::Bf16::narrow(value), f32_to_bf16(value)) << near;
      ASSERT_EQ(gpu::F16::narrow(value), f32_to_f16(value)) << near;
    }
  }
}

template <class D, class S, class CpuD, class CpuS>
void compare_sums(DType d, DType s) {
  RandomNumbers random(1);
  for (int i = 0; i < 200'000; ++i) {
    const int binades = i % 3 == 0 ? 2 : i % 3 == 1 ? 14 : 40;
    const float a = random.number(d, binades, Corners::all), b = random.number(s, binades, Corners::all);
    const auto expected = cpu::rounded_sum<CpuD, CpuS>(a, b);
    const auto found = gpu::rounded_sum<D, S>(a, b);
    if constexpr (std::is_same_v<D, gpu::F32>) {
      // With two NaN the reference's compiler may take either first.
      if (a != a && b != b) continue;
      ASSERT_EQ(found, bits(expected)) << a << " + " << b;
    } else {
      ASSERT_EQ(found, expected) << a << " + " << b;
    }
  }
}

TEST(Element, SumsRoundOnce) {
  compare_sums<gpu::F32, gpu::F32, cpu::F32, cpu::F32>(DType::f32, DType::f32);
  compare_sums<gpu::F32, gpu::Bf16, cpu::F32, cpu::Bf16>(DType::f32, DType::bf16);
  compare_sums<gpu::F32, gpu::F16, cpu::F32, cpu::F16>(DType::f32, DType::f16);
  compare_sums<gpu::Bf16, gpu::F32, cpu::Bf16, cpu::F32>(DType::bf16, DType::f32);
  compare_sums<gpu::Bf16, gpu::Bf16, cpu::Bf16, cpu::Bf16>(DType::bf16, DType::bf16);
  compare_sums<gpu::Bf16, gpu::F16, cpu::Bf16, cpu::F16>(DType::bf16, DType::f16);
  compare_sums<gpu::F16, gpu::F32, cpu::F16, cpu::F32>(DType::f16, DType::f32);
  compare_sums<gpu::F16, gpu::Bf16, cpu::F16, cpu::Bf16>(DType::f16, DType::bf16);
  compare_sums<gpu::F16, gpu::F16, cpu::F16, cpu::F16>(DType::f16, DType::f16);
}

template <class E, class CpuE>
void compare_products(DType type) {
  RandomNumbers random(2);
  for (int i = 0; i < 300; ++i) {
    const float factor =
        i < 20 ? 1.0f / static_cast<float>(i + 1) : random.number(DType::f32, 20, Corners::finite);
    auto in = gpu::ProductIn::f32;
    if constexpr (cpu::Narrow<CpuE>) {
      if (!cpu::product_is_exact_in_f32<CpuE>(factor)) in = gpu::ProductIn::f64;
    }
    cpu::with_product<CpuE>(factor, [&](auto product) {
      for (int n = 0; n < 500; ++n) {
        const float x = random.number(type, 14, Corners::all);
        const auto found = gpu::rounded_product<E>(x, factor, in);
        if constexpr (cpu::Narrow<CpuE>) {
          ASSERT_EQ(found, product(x)) << x << " * " << factor;
        } else {
          ASSERT_EQ(found, bits(product(x))) << x << " * " << factor;
        }
      }
    });
  }
}

TEST(Element, ProductsRoundOnce) {
  compare_products<gpu::F32, cpu::F32>(DType::f32);
  compare_products<gpu::Bf16, cpu::Bf16>(DType::bf16);
  compare_products<gpu::F16, cpu::F16>(DType::f16);
}

}  // namespace
}  // namespace shardcheck
