// A case of the laws of formats as a small value: one format, one named cast, the numbers that are cast, and
// what the laws of exponent shifts and of stochastic rounding need. Next: format_laws.h judges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/numerics/named_cast.h"
#include "core/tensor/dtype.h"
#include "properties/generate/draw.h"

namespace shardcheck {

struct FormatCase {
  FormatId format = FormatId::e4m3;
  std::string policy = "nv_saturating";  ///< of named_casts(format)
  DType source = DType::f32;             ///< of the numbers; bf16 and f16 where a Cast op has the format
  std::vector<std::int64_t> inputs;      ///< fp32 bits of numbers that the source type has
  std::int32_t shift = 1;                ///< of the exponent (F11)
  std::int32_t random_bits = 8;          ///< of a stochastic rounding (F14, F15), 1 to 8
  std::uint64_t seed = 0;                ///< of its draws
  std::string fault;                     ///< of the zoo of formats, or empty
};

/// The formats that laws speak of: all narrow ones.
inline constexpr FormatId kNarrowFormats[] = {FormatId::e4m3,     FormatId::e5m2, FormatId::e4m3fnuz,
                                              FormatId::e5m2fnuz, FormatId::e8m0, FormatId::e2m1,
                                              FormatId::e3m2,     FormatId::e2m3, FormatId::ue4m3};

/// Places where a code changes with their neighbours, powers of two, specials, anything (G1 to G3).
FormatCase random_format_case(Draw& draw);

/// The named cast of the case, or null when the format has none of that name.
const NamedCast* cast_of(const FormatCase& c);

/// Whether a number of the type is exactly this one, given by its bits. Every NaN is one.
bool has_number(DType type, std::uint32_t f32_bits);

/// "e4m3 by nv_saturating from bf16: 3 numbers 0x3f880001, ...".
std::string describe(const FormatCase& c);

}  // namespace shardcheck
