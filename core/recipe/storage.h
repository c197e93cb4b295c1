// How scales and FP4 codes lie in memory: planes of padded scales, the order in which products read MX
// scales, two FP4 codes a byte (fp8 3.3 to 3.5). Invariant: padding is zero, and no reader of a plane looks
// at it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/recipe/recipe.h"

namespace shardcheck::recipe {

/// Stored scales, little-endian and row-major, padded with zero bytes.
struct ScalePlane {
  FormatId format = FormatId::f32;
  Extent grid;    ///< of the blocks, before transposition and padding
  Extent stored;  ///< of the plane
  std::vector<std::byte> bytes;
  bool operator==(const ScalePlane&) const = default;
};

/// One stored scale a block, row-major over the grid of blocks.
struct ScaleGrid {
  Extent extent;
  std::span<const std::uint32_t> bits;
};

ScalePlane scale_plane(FormatId format, const ScaleStorage& storage, const ScaleGrid& grid);

/// The scales of a plane, row-major over its grid.
std::vector<std::uint32_t> grid_in(const ScalePlane& plane, const ScaleStorage& storage);

/// The same scales in the order in which products read them: entry (i, j) of R x C, R a multiple of 128 along
/// the dimension that is not contracted, C a multiple of 4, at byte ((i/128)(C/4) + j/4) 512 + (i%32) 16 +
/// ((i%128)/32) 4 + j%4. A plane of columns is read with i its column. One byte a scale. A bijection (F36).
/// Source: fp8 3.4.
std::vector<std::byte> swizzled(const ScalePlane& plane, Direction direction);

/// The inverse: a plane's bytes out of their swizzled order.
std::vector<std::byte> unswizzled(std::span<const std::byte> bytes, Extent stored, Direction direction);

/// Two codes of 4 bits a byte, the first in the low half; an odd last one has a high half of zero (F13).
std::vector<std::uint8_t> packed_fp4(std::span<const std::uint8_t> codes);

}  // namespace shardcheck::recipe
