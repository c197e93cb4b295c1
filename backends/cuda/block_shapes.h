// What a recipe says of one copy of a matrix, as kernels read it: where blocks lie, how their scales lie in
// memory, by which formula a scale is made. Invariant: numbers only, each taken from core/recipe, so that a
// kernel knows no recipe by name. Next: block_scale.cuh, the formulas; block_ops.h, the kernels.
#pragma once

#include <cstdint>

#include "core/plan/op.h"
#include "core/recipe/recipe.h"

namespace shardcheck::gpu {

/// A divisor, ready for divisions of numbers below 2^31 by a multiplication: with 2^k >= divisor,
/// n / divisor = floor(n * multiplier / 2^(31 + k)) where multiplier = ceil(2^(31 + k) / divisor).
struct Divider {
  long long divisor = 1;
  std::uint32_t multiplier = 0;  ///< 0: divide as it stands
  int shift = 0;                 ///< k - 1
};
Divider divider_of(long long divisor);

/// recipe::Blocks.
struct BlockGrid {
  long long rows, columns;            ///< of the matrix
  long long height, width;            ///< of a whole block
  long long grid_rows, grid_columns;  ///< blocks
  Divider by_columns, by_height, by_width;
};

/// A plane of stored scales: recipe::ScalePlane.
struct PlaneShape {
  long long grid_rows, grid_columns;      ///< of the blocks
  long long stored_rows, stored_columns;  ///< of the plane, padding included
  bool transposed;                        ///< block (i, j) lies at row j, column i of the plane
  bool are_codes;                         ///< a byte a scale (E8M0), else fp32

  bool has_padding() const { return stored_rows * stored_columns != grid_rows * grid_columns; }
  long long bytes() const { return stored_rows * stored_columns * (are_codes ? 1 : 4); }
};

/// From an amax to a scale: recipe::scales_of for one level of scales.
struct ScaleRule {
  recipe::ScaleFormula formula;
  recipe::PowerOfTwo power_of_two;
  recipe::ScaleUse use;
  recipe::AmaxNan amax_nan;
  float largest;      ///< fmax of the elements
  int largest_power;  ///< floor(log2 fmax)
  int mantissa_bits;  ///< of the elements
  double epsilon;
  std::uint32_t value_for_infinity;
};

struct CopyShape {
  BlockGrid grid;
  PlaneShape plane;
  ScaleRule rule;
};

/// `elements` is E4M3 or E5M2. Asserts that the recipe has one level of scales, in fp32 or E8M0.
CopyShape shape_of(const BlockCopy& of, FormatId elements);

}  // namespace shardcheck::gpu
