#include "core/recipe/storage.h"

#include <cstring>

#include "core/assert.h"
#include "core/integers.h"

namespace shardcheck::recipe {
namespace {

std::size_t bytes_of(FormatId format) {
  return static_cast<std::size_t>(div_ceil(format_of(format).width(), 8));
}

/// Calls visit(block, element of the plane that holds its scale), blocks ascending.
template <class Visit>
void for_each_block(const ScalePlane& plane, const ScaleStorage& storage, Visit visit) {
  const std::int64_t by_row = storage.transposed ? 1 : plane.stored.columns;
  const std::int64_t by_column = storage.transposed ? plane.stored.columns : 1;
  std::size_t block = 0;
  for (std::int64_t row = 0; row < plane.grid.rows; ++row) {
    for (std::int64_t column = 0; column < plane.grid.columns; ++column)
      visit(block++, static_cast<std::size_t>(row * by_row + column * by_column));
  }
}

/// Place of every entry of a plane in the swizzled order.
template <class Visit>
void for_each_swizzled(Extent stored, Direction direction, Visit visit) {
  const bool by_row = direction == Direction::row;
  const std::int64_t rows = by_row ? stored.rows : stored.columns;
  const std::int64_t blocks = by_row ? stored.columns : stored.rows;
  SC_ASSERT(rows % 128 == 0 && blocks % 4 == 0, "a plane is swizzled after it is padded to 128 x 4");
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < blocks; ++j) {
      const std::int64_t from = by_row ? i * blocks + j : j * rows + i;
      const std::int64_t to =
          ((i / 128) * (blocks / 4) + j / 4) * 512 + (i % 32) * 16 + ((i % 128) / 32) * 4 + j % 4;
      visit(static_cast<std::size_t>(from), static_cast<std::size_t>(to));
    }
  }
}

}  // namespace

ScalePlane scale_plane(FormatId format, const ScaleStorage& storage, const ScaleGrid& grid) {
  SC_ASSERT(std::ssize(grid.bits) == grid.extent.numel(), "not one scale a block");
  const Extent turned = storage.transposed ? grid.extent.transposed() : grid.extent;
  ScalePlane plane{
      format,
      grid.extent,
      {round_up(turned.rows, storage.row_multiple), round_up(turned.columns, storage.column_multiple)},
      {}};
  const std::size_t size = bytes_of(format);
  plane.bytes.resize(static_cast<std::size_t>(plane.stored.numel()) * size);
  for_each_block(plane, storage, [&](std::size_t block, std::size_t place) {
    if (size == 1) {
      plane.bytes[place] = static_cast<std::byte>(grid.bits[block]);
    } else {
      std::memcpy(plane.bytes.data() + place * size, &grid.bits[block], size);
    }
  });
  return plane;
}

std::vector<std::uint32_t> grid_in(const ScalePlane& plane, const ScaleStorage& storage) {
  const std::size_t size = bytes_of(plane.format);
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(plane.grid.numel()));
  for_each_block(plane, storage, [&](std::size_t block, std::size_t place) {
    if (size == 1) {
      bits[block] = std::to_integer<std::uint32_t>(plane.bytes[place]);
    } else {
      std::memcpy(&bits[block], plane.bytes.data() + place * size, size);
    }
  });
  return bits;
}

std::vector<std::byte> swizzled(const ScalePlane& plane, Direction direction) {
  SC_ASSERT(bytes_of(plane.format) == 1, "only scales of one byte are swizzled");
  std::vector<std::byte> result(plane.bytes.size());
  for_each_swizzled(plane.stored, direction,
                    [&](std::size_t from, std::size_t to) { result[to] = plane.bytes[from]; });
  return result;
}

std::vector<std::byte> unswizzled(std::span<const std::byte> bytes, Extent stored, Direction direction) {
  SC_ASSERT(std::ssize(bytes) == stored.numel(), "a swizzled plane has another size");
  std::vector<std::byte> result(bytes.size());
  for_each_swizzled(stored, direction, [&](std::size_t from, std::size_t to) { result[from] = bytes[to]; });
  return result;
}

std::vector<std::uint8_t> packed_fp4(std::span<const std::uint8_t> codes) {
  std::vector<std::uint8_t> bytes((codes.size() + 1) / 2);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    SC_ASSERT(codes[i] < 16, "a code of FP4 has four bits");
    bytes[i / 2] = static_cast<std::uint8_t>(bytes[i / 2] | codes[i] << (i % 2 * 4));
  }
  return bytes;
}

}  // namespace shardcheck::recipe
