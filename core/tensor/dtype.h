// DType: the element types that buffers of a plan hold. What their bits mean is core/numerics/format.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace shardcheck {

/// Element type of a buffer.
enum class DType : std::uint8_t { f32, bf16, f16, e4m3, e5m2, u8 };

/// Bytes of one element.
constexpr int bytes_of(DType type) {
  switch (type) {
    case DType::f32: return 4;
    case DType::bf16:
    case DType::f16: return 2;
    default: return 1;
  }
}

/// Name as scenarios and reports spell it: "f32", "bf16", "f16", "e4m3", "e5m2", "u8".
constexpr std::string_view name_of(DType type) {
  constexpr std::string_view names[] = {"f32", "bf16", "f16", "e4m3", "e5m2", "u8"};
  return names[static_cast<int>(type)];
}

/// The type of that name, or nothing.
constexpr std::optional<DType> dtype_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(DType::u8); ++i) {
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace shardcheck
