#include "properties/format_law/evidence.h"

#include <bit>
#include <cmath>

#include "core/assert.h"

namespace shardcheck {
namespace {

constexpr std::uint32_t kSign = 0x80000000u;
using Numbers = std::vector<CastNumber>;

std::uint32_t bits_of(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

/// Appends the number where the source has it and the format takes it.
bool append(const FormatCase& c, const NamedCast& cast, std::uint32_t bits, Numbers& list) {
  if (!has_number(c.source, bits) || !cast.takes(bits)) return false;
  list.push_back({.bits = bits});
  return true;
}

/// Every code but NaN as a number.
void append_codes(const FormatCase& c, FormatEvidence& e) {
  for (std::uint32_t code = 0; code < code_count(e.row); ++code) {
    const TableNumber number = table_number(e.row, code);
    if (number.is != NumberClass::nan && append(c, e.cast, bits_of(number.value()), e.numbers))
      e.codes.push_back(code);
  }
}

void append_corners(const FormatCase& c, FormatEvidence& e) {
  for (const std::uint32_t magnitude : {std::uint32_t{1}, e.row.last_of_zero, e.row.first_of_one,
                                        e.row.first_of_most, e.row.last_of_most, e.row.first_overflow}) {
    if (magnitude == 0) continue;
    append(c, e.cast, magnitude, e.corners);
    append(c, e.cast, magnitude | kSign, e.corners);
  }
}

/// Inputs times a power of two, and which input each is of.
struct Shifts {
  Numbers to;
  std::vector<std::size_t> from;
  std::vector<int> by;
};
Shifts shifts_of(const FormatCase& c, const FormatEvidence& e) {
  Shifts shifts;
  for (std::size_t i = 0; i < e.inputs.size() && c.shift != 0; ++i) {
    for (const int shift : {c.shift, -c.shift}) {
      const double to = std::ldexp(e.inputs[i].value(), shift);
      const bool is_number = e.inputs[i].is_finite() && static_cast<double>(static_cast<float>(to)) == to;
      if (!is_number || !append(c, e.cast, bits_of(to), shifts.to)) continue;
      shifts.from.push_back(i);
      shifts.by.push_back(shift);
    }
  }
  return shifts;
}

/// Casts all lists at once. False where another process holds the rank.
bool cast(const FormatEvidence& e, std::initializer_list<Numbers*> lists) {
  std::vector<std::uint32_t> bits;
  for (const Numbers* list : lists) {
    for (const CastNumber& number : *list) bits.push_back(number.bits);
  }
  const std::vector<std::uint32_t> codes = e.machine.encoded(e.cast, e.asked.source, bits);
  if (codes.empty()) return false;
  std::size_t next = 0;
  for (Numbers* list : lists) {
    for (CastNumber& number : *list) number.code = codes[next++];
  }
  return true;
}

}  // namespace

double CastNumber::value() const {
  return static_cast<double>(std::bit_cast<float>(bits));
}

std::optional<FormatEvidence> gather(const FormatCase& c, const NumberMachine& machine) {
  const NamedCast* named = cast_of(c);
  SC_ASSERT(named != nullptr, "a case names a cast of its format");
  FormatEvidence e(c, *named, machine);
  std::vector<std::uint32_t> every_code;
  for (std::uint32_t code = 0; code < code_count(e.row); ++code) every_code.push_back(code);
  e.decoded = machine.decoded(e.format, every_code);

  append_codes(c, e);
  for (const std::uint32_t nan : {0x7fc00000u, 0xffc00000u}) append(c, *named, nan, e.nans);
  append_corners(c, e);
  for (const std::int64_t input : c.inputs) append(c, *named, static_cast<std::uint32_t>(input), e.inputs);
  for (const CastNumber& input : e.inputs) append(c, *named, input.bits ^ kSign, e.negated);
  Shifts shifts = shifts_of(c, e);
  if (!cast(e, {&e.numbers, &e.nans, &e.corners, &e.inputs, &e.negated, &shifts.to})) return std::nullopt;
  for (std::size_t i = 0; i < shifts.to.size(); ++i)
    e.shifted.push_back({e.inputs[shifts.from[i]], shifts.to[i], shifts.by[i]});
  return e;
}

}  // namespace shardcheck
