// FP8 as kernels see it, compiled for the host: the policies' edges, and the packing of
// pairs (CUDA's headers compute the instructions in software here), against core/numerics.
#include "tests/backends/cuda/device_on_host.h"
// The shim above comes first.
#include <gtest/gtest.h>

#include "backends/cuda/fp8.cuh"
#include "core/numerics/cast_policy.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"

namespace shardcheck {
namespace {

template <class F>
void compare_edges(DType type) {
  const Format& format = format_of(*format_id_of(type));
  for (const NamedCastPolicy& named : kCastPolicies) {
    const gpu::Fp8Edges edges = gpu::edges_of(type, named.policy);
    // An odd stride meets every exponent; ties and their neighbours are the last four.
    for (std::uint64_t code = 0; code < 0x100000000u; code += 99991) {
      const auto any = static_cast<std::uint32_t>(code), tie = (any & ~0xFFFFFu) | 0x80000u;
      for (std::uint32_t bits : {any, tie, tie - 1, tie + 1, any & ~0xFFFFFu}) {
        const auto expected = static_cast<std::uint8_t>(encode(format, named.policy, bits));
        const float value = std::bit_cast<float>(bits);
        const auto hardware = static_cast<std::uint8_t>(gpu::convert_pair<F>(value, 0.0f) & 0xFFu);
        ASSERT_EQ(gpu::with_edges<F>(hardware, value, edges), expected)
            << named.name << " " << std::hex << bits;
      }
    }
  }
}

TEST(Fp8, InstructionAndEdgesAreTheEncoder) {
  compare_edges<gpu::E4m3>(DType::e4m3);
  compare_edges<gpu::E5m2>(DType::e5m2);
}

TEST(Fp8, OnlyTheHardwaresOwnPolicyNeedsNoLookUp) {
  for (const NamedCastPolicy& named : kCastPolicies) {
    for (DType type : {DType::e4m3, DType::e5m2}) {
      EXPECT_EQ(gpu::edges_of(type, named.policy).are_hardware, named.policy == kNvSaturating) << named.name;
    }
  }
}

/// F13: the first of two neighbours comes first in memory.
TEST(Fp8, FirstOfAPairIsTheLowByte) {
  EXPECT_EQ(gpu::convert_pair<gpu::E4m3>(1.0f, 2.0f), 0x4038);
  EXPECT_EQ(gpu::convert_pair<gpu::E5m2>(1.0f, 2.0f), 0x403C);
  EXPECT_EQ(gpu::values_of_pair<gpu::E4m3>(0x4038).x, 1.0f);
  EXPECT_EQ(gpu::values_of_pair<gpu::E4m3>(0x4038).y, 2.0f);
}

template <class F>
void compare_values(DType type) {
  for (std::uint32_t code = 0; code < 256; ++code) {
    const float expected = decode(format_of(*format_id_of(type)), code);
    const float found = gpu::values_of_pair<F>(static_cast<std::uint16_t>(code | 0x3800u)).x;
    if (expected != expected) {
      EXPECT_NE(found, found) << code;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected)) << code;
    }
  }
}

TEST(Fp8, EveryCodeHasItsValue) {
  compare_values<gpu::E4m3>(DType::e4m3);
  compare_values<gpu::E5m2>(DType::e5m2);
}

}  // namespace
}  // namespace shardcheck
