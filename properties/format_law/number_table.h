// The formats as the specification's tables say them (fp8 1.1, 1.2, 2.2): a second statement of what
// core/numerics/format.h says as widths and codes, so that F1 and F6 hold one against the other. It shares
// nothing with the decoder or the encoder. Read next: format_laws.h.
#pragma once

#include <cstdint>
#include <span>

#include "core/numerics/format.h"

namespace shardcheck {

/// What a code is.
enum class NumberClass : std::uint8_t { finite, infinity, nan };

/// One row of fp8 1.1 with its row of 2.2. Magnitudes as fp32 bits; 0 where the table has a dash.
struct TableRow {
  FormatId format;
  bool is_signed;
  int exponent_bits, mantissa_bits, bias;
  int first_infinity, first_nan;  ///< magnitude codes; -1 for none. FNUZ: the code 0x80
  double largest, smallest_normal, smallest;
  int finite, distinct;          ///< codes, values
  std::uint32_t last_of_zero;    ///< greatest magnitude that rounds to zero
  std::uint32_t first_of_one;    ///< least that gives code 1
  std::uint32_t first_of_most;   ///< least that gives the largest code, where the table says it (FP4, FP6)
  std::uint32_t last_of_most;    ///< greatest that gives the largest code without saturation
  std::uint32_t first_overflow;  ///< least that overflows
};

/// Every narrow format; E8M0 has no rows of 2.2.
std::span<const TableRow> number_table();
/// The row of a format of 1.1.
const TableRow& table_row(FormatId format);

/// What the code means (fp8 1.2): exact in double, +-infinity for infinity, 0 for NaN.
struct TableNumber {
  NumberClass is = NumberClass::finite;
  bool negative = false;
  double magnitude = 0;
  double value() const { return negative ? -magnitude : magnitude; }
};
TableNumber table_number(const TableRow& row, std::uint32_t code);

/// Codes 0 .. code_count - 1 exist.
std::uint32_t code_count(const TableRow& row);

}  // namespace shardcheck
