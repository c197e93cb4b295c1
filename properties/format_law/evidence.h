// What a machine makes of one case of formats: the number of every code, and the codes of lists of numbers.
// Laws look at nothing else, so that a backend is asked once. Next: format_laws.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "properties/format_law/format_case.h"
#include "properties/format_law/number_machine.h"
#include "properties/format_law/number_table.h"

namespace shardcheck {

/// One number that was cast.
struct CastNumber {
  std::uint32_t bits = 0;  ///< fp32
  std::uint32_t code = 0;  ///< by the machine

  double value() const;
  bool is_nan() const { return (bits & 0x7fffffffu) > 0x7f800000u; }
  bool is_finite() const { return (bits & 0x7fffffffu) < 0x7f800000u; }
  bool is_negative() const { return bits >> 31 != 0; }
};

/// The same number times a power of two.
struct ShiftedNumber {
  CastNumber from, to;
  int shift = 0;
};

struct FormatEvidence {
  FormatEvidence(const FormatCase& asked, const NamedCast& cast, const NumberMachine& machine)
      : asked(asked),
        cast(cast),
        format(format_of(asked.format)),
        row(table_row(asked.format)),
        machine(machine) {}

  const FormatCase& asked;
  const NamedCast& cast;
  const Format& format;
  const TableRow& row;
  const NumberMachine& machine;
  std::vector<float> decoded;          ///< [code]
  std::vector<CastNumber> numbers;     ///< of every code but NaN, in the order of codes
  std::vector<std::uint32_t> codes;    ///< those codes
  std::vector<CastNumber> nans;        ///< quiet NaN of both signs
  std::vector<CastNumber> corners;     ///< thresholds of fp8 2.2 that the source has, of both signs
  std::vector<CastNumber> inputs;      ///< of the case
  std::vector<CastNumber> negated;     ///< one an input, or none in a format without sign
  std::vector<ShiftedNumber> shifted;  ///< inputs times 2^shift and 2^-shift, where the source has them
};

/// Nothing where another process holds the rank. The case and the machine outlive what is returned.
std::optional<FormatEvidence> gather(const FormatCase& c, const NumberMachine& machine);

}  // namespace shardcheck
