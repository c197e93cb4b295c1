// What the bits of every number format mean, as data: widths, bias, largest code, infinity and NaN codes
// (fp8 1.1). Invariant: a descriptor says everything that decode.h and encode.h need; no other file knows a
// format by name. Read next: decode.h, encode.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/tensor/dtype.h"

namespace shardcheck {

/// Every format of fp8 1.1, then the three IEEE-like ones that narrow formats are rounded from.
enum class FormatId : std::uint8_t {
  e4m3,
  e5m2,
  e4m3fnuz,
  e5m2fnuz,
  e8m0,
  e2m1,
  e3m2,
  e2m3,
  ue4m3,
  bf16,
  f16,
  f32
};

/// Which codes are not ordinary numbers.
enum class Encoding : std::uint8_t {
  ieee,          ///< the last exponent holds infinity and NaNs
  all_ones_nan,  ///< no infinity; the code with every bit set is NaN, its neighbours are numbers
  fnuz,          ///< no infinity, no -0; the code that would be -0 is the only NaN
  finite,        ///< every code is a number
  power_of_two,  ///< an exponent and nothing else (E8M0): no zero, no subnormals, 0xFF is NaN
};

inline constexpr std::uint32_t kNoCode = 0xffffffffu;  ///< a code that the format does not have

/// One format. Codes are magnitudes (sign bit clear) unless said otherwise.
struct Format {
  FormatId id;
  std::string_view name;
  Encoding encoding;
  int sign_bits;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  std::uint32_t max_code;       ///< largest finite magnitude
  std::uint32_t infinity_code;  ///< kNoCode when there is none
  std::uint32_t
      nan_code;  ///< NaN with every mantissa bit set (FNUZ: with the sign bit); kNoCode when there is none
  std::uint32_t
      quiet_nan_code;  ///< NaN with only the top mantissa bit set, where the format can tell the two apart

  constexpr int width() const { return sign_bits + exponent_bits + mantissa_bits; }
  /// Exponent of the smallest normal number.
  constexpr int smallest_exponent() const { return encoding == Encoding::power_of_two ? -bias : 1 - bias; }
  constexpr std::uint32_t sign_mask() const { return sign_bits == 0 ? 0u : 1u << (width() - 1); }
  constexpr std::uint32_t magnitude_mask() const { return (1u << (exponent_bits + mantissa_bits)) - 1; }
  constexpr bool has_infinity() const { return infinity_code != kNoCode; }
  constexpr bool has_nan() const { return nan_code != kNoCode; }
  /// Codes 0 .. code_count() - 1 exist (f32: wraps to 0, so do not ask).
  constexpr std::uint32_t code_count() const { return 1u << width(); }

  constexpr bool is_nan(std::uint32_t code) const {
    if (encoding == Encoding::fnuz) return code == nan_code;
    return (code & magnitude_mask()) > (has_infinity() ? infinity_code : max_code);
  }
  constexpr bool is_infinity(std::uint32_t code) const {
    return has_infinity() && (code & magnitude_mask()) == infinity_code;
  }
};

// clang-format off
/// The table of fp8 1.1 in the order of FormatId.
inline constexpr std::array<Format, 12> kFormats = {{
    // names and kind; sign, exponent and mantissa bits, bias; codes: largest, infinity, NaN, quiet NaN
    {FormatId::e4m3, "e4m3", Encoding::all_ones_nan,
     1, 4, 3, 7, 0x7E, kNoCode, 0x7F, 0x7F},
    {FormatId::e5m2, "e5m2", Encoding::ieee,
     1, 5, 2, 15, 0x7B, 0x7C, 0x7F, 0x7E},
    {FormatId::e4m3fnuz, "e4m3fnuz", Encoding::fnuz,
     1, 4, 3, 8, 0x7F, kNoCode, 0x80, 0x80},
    {FormatId::e5m2fnuz, "e5m2fnuz", Encoding::fnuz,
     1, 5, 2, 16, 0x7F, kNoCode, 0x80, 0x80},
    {FormatId::e8m0, "e8m0", Encoding::power_of_two,
     0, 8, 0, 127, 0xFE, kNoCode, 0xFF, 0xFF},
    {FormatId::e2m1, "e2m1", Encoding::finite,
     1, 2, 1, 1, 0x7, kNoCode, kNoCode, kNoCode},
    {FormatId::e3m2, "e3m2", Encoding::finite,
     1, 3, 2, 3, 0x1F, kNoCode, kNoCode, kNoCode},
    {FormatId::e2m3, "e2m3", Encoding::finite,
     1, 2, 3, 1, 0x1F, kNoCode, kNoCode, kNoCode},
    {FormatId::ue4m3, "ue4m3", Encoding::all_ones_nan,
     0, 4, 3, 7, 0x7E, kNoCode, 0x7F, 0x7F},
    {FormatId::bf16, "bf16", Encoding::ieee,
     1, 8, 7, 127, 0x7F7F, 0x7F80, 0x7FFF, 0x7FC0},
    {FormatId::f16, "f16", Encoding::ieee,
     1, 5, 10, 15, 0x7BFF, 0x7C00, 0x7FFF, 0x7E00},
    {FormatId::f32, "f32", Encoding::ieee,
     1, 8, 23, 127, 0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF, 0x7FC00000},
}};
// clang-format on

constexpr const Format& format_of(FormatId id) {
  return kFormats[static_cast<std::size_t>(id)];
}

/// The format of a buffer's elements, or nothing for plain bytes.
constexpr std::optional<FormatId> format_id_of(DType type) {
  switch (type) {
    case DType::f32: return FormatId::f32;
    case DType::bf16: return FormatId::bf16;
    case DType::f16: return FormatId::f16;
    case DType::e4m3: return FormatId::e4m3;
    case DType::e5m2: return FormatId::e5m2;
    case DType::u8: return std::nullopt;
  }
  return std::nullopt;
}

/// The format of that name ("e4m3", "bf16", ...), or nothing.
constexpr std::optional<FormatId> format_named(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return format.id;
  }
  return std::nullopt;
}

/// The relations that hold in every row of the table.
constexpr bool relations_hold(const Format& format) {
  if (format.has_infinity() != (format.encoding == Encoding::ieee)) return false;
  if (format.has_nan() != (format.encoding != Encoding::finite)) return false;
  switch (format.encoding) {
    case Encoding::ieee:
      return format.infinity_code == ((1u << format.exponent_bits) - 1) << format.mantissa_bits &&
             format.max_code == format.infinity_code - 1 && format.nan_code == format.magnitude_mask() &&
             format.quiet_nan_code == (format.infinity_code | 1u << (format.mantissa_bits - 1)) &&
             format.bias == (1 << (format.exponent_bits - 1)) - 1;
    case Encoding::all_ones_nan:
    case Encoding::power_of_two:
      return format.nan_code == format.magnitude_mask() && format.max_code == format.nan_code - 1 &&
             format.bias == (1 << (format.exponent_bits - 1)) - 1;
    case Encoding::fnuz:
      return format.nan_code == format.sign_mask() && format.max_code == format.magnitude_mask() &&
             format.bias == 1 << (format.exponent_bits - 1);
    case Encoding::finite:
      return format.max_code == format.magnitude_mask() &&
             format.bias == (1 << (format.exponent_bits - 1)) - 1;
  }
  return false;
}

/// Every row holds its relations and stands at the index of its id.
constexpr bool table_is_consistent() {
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    if (static_cast<std::size_t>(kFormats[i].id) != i || !relations_hold(kFormats[i])) return false;
  }
  return true;
}
static_assert(table_is_consistent());

}  // namespace shardcheck
