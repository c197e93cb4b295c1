// What the two ways to sum a GEMM share: reading codes, scales and C, and rounding and writing D.
// For the three GEMM files of this folder only, hence the namespace. Read next: aligned_gemm.h, exact_gemm.h.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "core/integers.h"
#include "core/numerics/decode.h"
#include "core/numerics/gemm.h"
#include "core/numerics/narrow.h"

namespace shardcheck::gemm_elements {

inline constexpr std::int64_t kScaleBlock = 128;  ///< rows or products that a block scale covers

inline float read_f32(std::span<const std::byte> bytes, std::int64_t index) {
  float value;
  std::memcpy(&value, bytes.data() + index * 4, 4);
  return value;
}

inline std::uint16_t read_u16(std::span<const std::byte> bytes, std::int64_t index) {
  std::uint16_t code;
  std::memcpy(&code, bytes.data() + index * 2, 2);
  return code;
}

/// The value of element `index` of a matrix of type f32, bf16 or f16.
inline float read_value(DType type, std::span<const std::byte> bytes, std::int64_t index) {
  if (type == DType::f32) return read_f32(bytes, index);
  const std::uint16_t code = read_u16(bytes, index);
  return type == DType::bf16 ? bf16_to_f32(code) : f16_to_f32(code);
}

/// Writes a code of 2 or 4 bytes.
inline void write_code(DType type, std::span<std::byte> bytes, std::int64_t index, std::uint32_t code) {
  if (type == DType::f32) {
    std::memcpy(bytes.data() + index * 4, &code, 4);
  } else {
    const auto narrow = static_cast<std::uint16_t>(code);
    std::memcpy(bytes.data() + index * 2, &narrow, 2);
  }
}

/// An fp32 value rounded to `type` (not at all for f32) as a value.
inline float rounded_to(DType type, float value) {
  if (type == DType::bf16) return bf16_to_f32(f32_to_bf16(value));
  if (type == DType::f16) return f16_to_f32(f32_to_f16(value));
  return value;
}

/// The code of an fp32 value in `type`, one rounding; NaN is canonical.
inline std::uint32_t code_of(DType type, float value) {
  if (type == DType::bf16) return f32_to_bf16(value);
  if (type == DType::f16) return f32_to_f16(value);
  return value != value ? 0x7fc00000u : std::bit_cast<std::uint32_t>(value);
}

using NumberTable = std::array<float, 256>;

/// What every code of a format of 8 bits or fewer means; zeros for a wider one. Made once: a product may be
/// smaller than its tables.
inline const NumberTable& numbers_of(FormatId id) {
  static const std::array<NumberTable, kFormats.size()> tables = [] {
    std::array<NumberTable, kFormats.size()> all{};
    for (const Format& format : kFormats) {
      if (format.width() > 8) continue;
      for (std::uint32_t code = 0; code < format.code_count(); ++code)
        all[static_cast<std::size_t>(format.id)][code] = decode(format, code);
    }
    return all;
  }();
  return tables[static_cast<std::size_t>(id)];
}

/// Reads an operand's elements as exact fp32 values; FP8 codes go through a table.
class OperandReader {
 public:
  explicit OperandReader(const OperandView& view) : view_(view), table_(numbers_of(view.format)) {}

  float operator()(std::int64_t row, std::int64_t i) const {
    const std::int64_t index = row * view_.row_stride + i * view_.k_stride;
    switch (view_.format) {
      case FormatId::bf16: return bf16_to_f32(read_u16(view_.codes, index));
      case FormatId::f16: return f16_to_f32(read_u16(view_.codes, index));
      case FormatId::f32: return read_f32(view_.codes, index);
      default: return table_[static_cast<std::uint8_t>(view_.codes[static_cast<std::size_t>(index)])];
    }
  }

 private:
  OperandView view_;
  const NumberTable& table_;
};

/// The scale of (row, k-block) of an operand; 1 when the mode is none.
inline float scale_of(ScaleMode mode, std::span<const float> scales, std::int64_t rows, std::int64_t k,
                      std::int64_t row, std::int64_t k_block) {
  constexpr std::int64_t kPadding = 4;
  const auto at = [&](std::int64_t index) { return scales[static_cast<std::size_t>(index)]; };
  switch (mode) {
    case ScaleMode::none: return 1.0f;
    case ScaleMode::tensor: return at(0);
    case ScaleMode::outer_vector: return at(row);
    case ScaleMode::vector128: return at(k_block * round_up(rows, kPadding) + row);
    case ScaleMode::block128x128:
      return at(row / kScaleBlock * round_up(div_ceil(k, kScaleBlock), kPadding) + k_block);
  }
  return 1.0f;
}

constexpr bool is_block_mode(ScaleMode mode) {
  return mode == ScaleMode::vector128 || mode == ScaleMode::block128x128;
}

}  // namespace shardcheck::gemm_elements
