// Quantise and dequantise a matrix by a recipe (fp8 3). A copy is codes and a plane of scales, as the system
// stores them. Invariant: the parts below (amaxes, scales, codes) are what sharded.h puts together in another
// order, so that the two can only agree by the laws. Read next: storage.h for planes, sharded.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/recipe/blocks.h"
#include "core/recipe/scales.h"
#include "core/recipe/storage.h"

namespace shardcheck::recipe {

/// A row-major matrix of fp32 numbers.
struct Matrix {
  Extent extent;
  std::span<const float> values;
};

/// What to make of it.
struct Wanted {
  Direction direction = Direction::row;
  FormatId elements = FormatId::e4m3;
  float given_scale = 1;  ///< of ScaleFormula::given
};

/// A quantised copy.
struct QuantizedCopy {
  Direction direction = Direction::row;
  FormatId elements = FormatId::e4m3;
  Extent source;                    ///< of the matrix that was quantised
  Extent stored;                    ///< of `codes`: transposed where the recipe stores it so
  std::vector<std::uint8_t> codes;  ///< one a byte, whatever the width; packed_fp4 packs
  ScalePlane scales;
  float tensor_inverse = 1;  ///< the second level of two_level, else 1
  bool operator==(const QuantizedCopy&) const = default;
};

/// The blocks of a copy. A recipe whose second copy is derived has one grid, that of rows.
Blocks blocks_of(const Recipe& recipe, Direction direction, Extent extent);

/// How a copy's scales are stored.
inline const ScaleStorage& storage_of(const Recipe& recipe, Direction direction) {
  return direction == Direction::row ? recipe.row_scales : recipe.column_scales;
}

/// Amaxes of every block of the whole matrix.
std::vector<float> amaxes_of(const Recipe& recipe, Direction direction, const Matrix& matrix);

/// Largest of the amaxes of all blocks, 0 of none.
float tensor_amax_of(const Recipe& recipe, std::span<const float> amaxes);

/// codes[i] := encode(RN(x * factor of its block)) for every element of the piece. Exactness class: exact
/// (fp8 2.8). `codes` has one entry an element of the piece.
void cast_piece(const Recipe& recipe, FormatId elements, const Blocks& blocks, const Scales& scales,
                const Piece& piece, std::span<std::uint8_t> codes);

/// Codes in the order of the source and scales of all its blocks become the copy that the recipe stores.
QuantizedCopy stored_copy(const Recipe& recipe, const Wanted& wanted, const Blocks& blocks,
                          const Scales& scales, std::vector<std::uint8_t> codes);

/// The copy of a whole matrix. Exactness class: exact. Source: fp8 3.
QuantizedCopy quantize(const Recipe& recipe, const Wanted& wanted, const Matrix& matrix);

/// The other direction's copy out of the first one, where the recipe derives it (F32, F33). Throws Error
/// (bad_input) where another quantisation of the source is needed (F34).
QuantizedCopy second_copy_of(const Recipe& recipe, const QuantizedCopy& first);

/// RN(decode(code) * inverse) of every element, in the order of the source. Exactness class: exact.
std::vector<float> dequantize(const Recipe& recipe, const QuantizedCopy& copy);

}  // namespace shardcheck::recipe
