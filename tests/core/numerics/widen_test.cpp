// Every code of both 16-bit types, at an odd address too, and fp32 unchanged.
#include "core/numerics/widen.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "core/numerics/narrow.h"

namespace shardcheck {
namespace {

TEST(Widen, EveryCode) {
  std::vector<std::byte> stored(2 * 65536 + 1);
  std::vector<float> bf16(65536), f16(65536);
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto narrow = static_cast<std::uint16_t>(code);
    std::memcpy(stored.data() + 1 + 2 * code, &narrow, 2);
  }
  widen(DType::bf16, std::span(stored).subspan(1), bf16);
  widen(DType::f16, std::span(stored).subspan(1), f16);
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto narrow = static_cast<std::uint16_t>(code);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(bf16[code]), std::bit_cast<std::uint32_t>(bf16_to_f32(narrow)));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(f16[code]), std::bit_cast<std::uint32_t>(f16_to_f32(narrow)));
  }
}

TEST(Widen, Fp32IsKept) {
  const float from[] = {1.5f, -0.0f, std::bit_cast<float>(0x7f800001u)};
  float to[3] = {};
  widen(DType::f32, std::as_bytes(std::span(from)), to);
  EXPECT_EQ(std::memcmp(from, to, sizeof(from)), 0);
}

}  // namespace
}  // namespace shardcheck
