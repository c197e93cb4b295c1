// Recipe: how a matrix becomes narrow numbers and scales, as data: which elements share a scale, the formula
// of the scale, formats, what the second copy for the other direction is, how codes and scales are stored
// (fp8 3). A bit that two systems do differently is a field or a name here, never a branch elsewhere. Read
// next: catalogue.h for the named ones, quantize.h for what they do.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/numerics/cast_policy.h"
#include "core/numerics/encode.h"
#include "core/numerics/format.h"

namespace shardcheck::recipe {

/// Rows and columns of a row-major matrix.
struct Extent {
  std::int64_t rows = 0, columns = 0;
  constexpr std::int64_t numel() const { return rows * columns; }
  constexpr Extent transposed() const { return {columns, rows}; }
  constexpr bool operator==(const Extent&) const = default;
};

/// Along which dimension blocks run: the one that a product contracts. Row: along columns of a row.
enum class Direction : std::uint8_t { row, column };

/// Elements that share a scale: `along` of the direction by `across` of it. 0 is the whole extent.
struct BlockShape {
  std::int64_t along = 0, across = 0;
  constexpr bool operator==(const BlockShape&) const = default;
};

/// From the largest magnitude to the scale.
enum class ScaleFormula : std::uint8_t {
  given,             ///< an earlier step decided (fp8 3.1)
  quotient,          ///< s = RN(fmax / a), stored RN(1 / s) (fp8 3.0)
  quotient_f64,      ///< a clamped below by epsilon, s = fp32(fmax / a) in fp64, stored RN(1 / s) (fp8 3.2)
  inverse_quotient,  ///< stored RN(max(a, epsilon) / fmax), used RN(1 / stored) (fp8 3.3)
  ratio_up_reciprocal,  ///< E8M0: up of RN(a * RN(1 / fmax)) (fp8 3.4)
  ratio_up,             ///< E8M0: up of RN(a / fmax), infinity is NaN (RCEIL of fp8 2.5)
  exponent_down,        ///< E8M0: floor(log2 a) - emax (FLOOR of fp8 2.5)
  exponent_up,          ///< E8M0: ceil(log2 a) - emax (CEIL)
  exponent_even,        ///< E8M0: a rounded to the element's mantissa, then as exponent_down (EVEN)
  two_level,            ///< an E4M3 scale a block under one fp32 scale (fp8 3.5)
};
constexpr bool is_power_of_two_code(ScaleFormula formula) {
  return formula >= ScaleFormula::ratio_up_reciprocal && formula <= ScaleFormula::exponent_even;
}

/// What becomes of a scale that is an fp32 number.
enum class PowerOfTwo : std::uint8_t { no, down, up };

/// How the scale meets the element (fp8 0.3 SCALEMUL).
enum class ScaleUse : std::uint8_t {
  multiply,  ///< encode(RN(x * s)), s the scale, or RN(1 / stored) where the formula gives the inverse
  divide,    ///< encode(RN(x / stored))
};

/// What a NaN does to the maximum (fp8 0.3 AMAXNAN).
enum class AmaxNan : std::uint8_t { drop, propagate };

/// What the copy for the other direction is (fp8 3.7).
enum class SecondCopy : std::uint8_t {
  transposed,              ///< the same codes transposed, the same scale
  transposed_with_grid,    ///< the same codes transposed, and the grid of scales too
  requantised_transposed,  ///< another quantisation of the source, stored transposed
  requantised_in_place,    ///< another quantisation of the source, stored as the source lies
};
/// Whether the second copy is a function of the first (F32, F33), or needs the source (F34).
constexpr bool is_derivable(SecondCopy copy) {
  return copy <= SecondCopy::transposed_with_grid;
}

/// How the grid of scales of one copy lies in memory: row-major, padded with zeros to multiples.
struct ScaleStorage {
  bool transposed = false;
  std::int64_t row_multiple = 1, column_multiple = 1;
  constexpr bool operator==(const ScaleStorage&) const = default;
};

/// What a matrix must be for its system to quantise it.
struct Multiples {
  std::int64_t rows = 1, columns = 1;
};

struct Recipe {
  std::string_view name;      ///< "te-block-1x128"
  std::string_view section;   ///< of fp8
  std::string_view sentence;  ///< what it does
  BlockShape block;
  FormatId forward = FormatId::e4m3;   ///< of activations and weights (fp8 3.6)
  FormatId gradient = FormatId::e4m3;  ///< of gradients
  CastPolicy cast = kNvSaturating;
  ScaleFormula formula = ScaleFormula::quotient;
  PowerOfTwo power_of_two = PowerOfTwo::no;
  ScaleUse use = ScaleUse::multiply;
  AmaxNan amax_nan = AmaxNan::drop;
  double epsilon = 0;  ///< no smaller amax enters the formula; data below it are not changed (F24)
  /// Of RN(fmax / a) that is infinite, as fp32 bits.
  std::uint32_t value_for_infinity = 0x7f7fffff;
  SecondCopy second_copy = SecondCopy::transposed;
  FormatId scale_format = FormatId::f32;  ///< of a stored scale: f32, e8m0 or ue4m3
  ScaleStorage row_scales, column_scales;
  bool swizzled_for_products = false;  ///< products read the scales in the order of swizzle.h
  Multiples multiples;
};

}  // namespace shardcheck::recipe
