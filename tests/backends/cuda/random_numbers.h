// Random codes for comparisons of arithmetic: uniform bits, or numbers of close exponents, where rounding
// happens; and corners (zeros, subnormals, the largest, infinities, NaN) now and then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "core/numerics/narrow.h"
#include "core/tensor/dtype.h"

namespace shardcheck {

/// Which corners are among the draws. An overflowing sum is nothing that the measurements of tensor-core.md
/// cover, so what cuBLASLt computes is compared without any.
enum class Corners { none, finite, all };

class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

  /// A number of `type` as fp32, of an exponent within `binades` of 1; a corner in one of 16 draws.
  float number(DType type, int binades, Corners corners) {
    if (corners != Corners::none && below(16) == 0) return corner(type, corners);
    const auto exponent =
        static_cast<std::uint32_t>(127 - binades + static_cast<int>(below(2 * binades + 1)));
    const auto bits = static_cast<std::uint32_t>(engine_() << 31 & 0x80000000u) | exponent << 23 |
                      static_cast<std::uint32_t>(engine_() & 0x7FFFFFu);
    return rounded(type, std::bit_cast<float>(bits));
  }

  /// `count` of them as the bytes of a buffer.
  std::vector<std::byte> bytes(DType type, std::int64_t count, int binades, Corners corners) {
    std::vector<std::byte> all(static_cast<std::size_t>(count * bytes_of(type)));
    for (std::int64_t i = 0; i < count; ++i) {
      const float value = number(type, binades, corners);
      std::byte* const to = all.data() + i * bytes_of(type);
      const std::uint16_t narrow = type == DType::bf16 ? f32_to_bf16(value) : f32_to_f16(value);
      if (type == DType::f32) {
        std::memcpy(to, &value, 4);
      } else {
        std::memcpy(to, &narrow, 2);
      }
    }
    return all;
  }

 private:
  static float rounded(DType type, float value) {
    if (type == DType::bf16) return bf16_to_f32(f32_to_bf16(value));
    if (type == DType::f16) return f16_to_f32(f32_to_f16(value));
    return value;
  }
  float corner(DType type, Corners corners) {
    constexpr float kFinite[] = {0.0f, -0.0f, 1.0f, -1.0f};
    constexpr float kSmall[] = {0x1p-149f, 0x1p-133f, 0x1p-24f};
    constexpr float kLarge[] = {0x1.fffffep127f, 0x1.fep127f, 65504.0f};
    constexpr std::uint32_t kSpecial[] = {0x7F800000u, 0xFF800000u, 0x7FC0DEADu, 0x7FC0DEADu};
    const std::size_t of_type = type == DType::f32 ? 0 : type == DType::bf16 ? 1 : 2;
    const float sign = below(2) == 0 ? 1.0f : -1.0f;
    switch (below(corners == Corners::all ? 4 : 3)) {
      case 0: return kFinite[below(4)];
      case 1: return sign * kSmall[of_type] * static_cast<float>(1 + below(3));
      case 2: return sign * kLarge[of_type];
      default: return std::bit_cast<float>(kSpecial[below(4)]);
    }
  }

  std::mt19937_64 engine_;
};

}  // namespace shardcheck
