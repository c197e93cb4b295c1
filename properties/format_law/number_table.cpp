#include "properties/format_law/number_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/assert.h"

namespace shardcheck {
namespace {

constexpr std::uint32_t kLargestF32 = 0x7F7FFFFF;

// clang-format off
constexpr TableRow kRows[] = {
    {FormatId::e4m3, true, 4, 3, 7, -1, 0x7F, 448, 0x1p-6, 0x1p-9, 254, 253,
     0x3A800000, 0x3A800001, 0, 0x43E80000, 0x43E80001},
    {FormatId::e5m2, true, 5, 2, 15, 0x7C, 0x7D, 57344, 0x1p-14, 0x1p-16, 248, 247,
     0x37000000, 0x37000001, 0, 0x476FFFFF, 0x47700000},
    {FormatId::e4m3fnuz, true, 4, 3, 8, -1, 0x80, 240, 0x1p-7, 0x1p-10, 255, 255,
     0x3A000000, 0x3A000001, 0, 0x4377FFFF, 0x43780000},
    {FormatId::e5m2fnuz, true, 5, 2, 16, -1, 0x80, 57344, 0x1p-15, 0x1p-17, 255, 255,
     0x36800000, 0x36800001, 0, 0x476FFFFF, 0x47700000},
    {FormatId::e8m0, false, 8, 0, 127, -1, 0xFF, 0x1p127, 0x1p-127, 0x1p-127, 255, 255,
     0, 0, 0, 0, 0},
    {FormatId::e2m1, true, 2, 1, 1, -1, -1, 6, 1, 0.5, 16, 15,
     0x3E800000, 0x3E800001, 0x40A00001, kLargestF32, 0},
    {FormatId::e3m2, true, 3, 2, 3, -1, -1, 28, 0.25, 0x1p-4, 64, 63,
     0x3D000000, 0x3D000001, 0x41D00001, kLargestF32, 0},
    {FormatId::e2m3, true, 2, 3, 1, -1, -1, 7.5, 1, 0.125, 64, 63,
     0x3D800000, 0x3D800001, 0x40E80001, kLargestF32, 0},
    {FormatId::ue4m3, false, 4, 3, 7, -1, 0x7F, 448, 0x1p-6, 0x1p-9, 127, 127,
     0x3A800000, 0x3A800001, 0, 0x43E80000, 0x43E80001},
};
// clang-format on

bool is_fnuz(const TableRow& row) {
  return row.format == FormatId::e4m3fnuz || row.format == FormatId::e5m2fnuz;
}

}  // namespace

std::span<const TableRow> number_table() {
  return kRows;
}

const TableRow& table_row(FormatId format) {
  const auto found = std::ranges::find(kRows, format, &TableRow::format);
  SC_ASSERT(found != std::end(kRows), "a format without a row in fp8 1.1");
  return *found;
}

std::uint32_t code_count(const TableRow& row) {
  return 1u << ((row.is_signed ? 1 : 0) + row.exponent_bits + row.mantissa_bits);
}

TableNumber table_number(const TableRow& row, std::uint32_t code) {
  const int field_bits = row.exponent_bits + row.mantissa_bits;
  const auto magnitude = static_cast<int>(code & ((1u << field_bits) - 1));
  TableNumber number{.negative = row.is_signed && (code >> field_bits) != 0};
  if (is_fnuz(row) ? code == 0x80 : row.first_nan >= 0 && magnitude >= row.first_nan) {
    number.is = NumberClass::nan;
    return number;
  }
  if (row.first_infinity >= 0 && magnitude == row.first_infinity) {
    number.is = NumberClass::infinity;
    number.magnitude = std::numeric_limits<double>::infinity();
    return number;
  }
  if (row.format == FormatId::e8m0) {
    number.magnitude = std::ldexp(1.0, magnitude - row.bias);
    return number;
  }
  const int exponent = magnitude >> row.mantissa_bits;
  const int mantissa = magnitude & ((1 << row.mantissa_bits) - 1);
  number.magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - row.bias - row.mantissa_bits)
                                   : std::ldexp((1 << row.mantissa_bits) + mantissa,
                                                exponent - row.bias - row.mantissa_bits);
  return number;
}

}  // namespace shardcheck
