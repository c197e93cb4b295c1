#include "properties/scale_law/storage_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/integers.h"

namespace shardcheck {
namespace {

using namespace recipe;

/// Where the specification puts scales: the stored extent, and whether entry (row, column) of the grid lies
/// at (column, row) of it.
struct Storage {
  Extent stored;
  bool turned = false;
};

/// fp8 3.3 and 3.4 for M x K. Nothing for recipes whose storage they do not say.
std::optional<Storage> specified(const Recipe& recipe, Direction direction, Extent extent) {
  const auto up = [](std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; };
  const auto blocks = [](std::int64_t n, std::int64_t size) { return (n + size - 1) / size; };
  const std::int64_t m = extent.rows, k = extent.columns;
  const bool by_row = direction == Direction::row;
  if (recipe.section == "3.3" && recipe.block.across == 128)
    return by_row ? Storage{{blocks(m, 128), up(blocks(k, 128), 4)}}
                  : Storage{{blocks(k, 128), up(blocks(m, 128), 4)}, true};
  if (recipe.section == "3.3")
    return by_row ? Storage{{blocks(k, 128), up(m, 4)}, true} : Storage{{blocks(m, 128), up(k, 4)}};
  if (recipe.section == "3.4" && recipe.block.across == 1)
    return by_row ? Storage{{up(m, 128), up(blocks(k, 32), 4)}} : Storage{{up(blocks(m, 32), 4), up(k, 128)}};
  return std::nullopt;
}

std::size_t bytes_of(const Recipe& recipe) {
  return recipe.scale_format == FormatId::f32 ? 4 : 1;
}

/// A scale that names its block, in the bytes of the format.
std::uint32_t name_of_block(const Recipe& recipe, std::int64_t block) {
  const auto hash = static_cast<std::uint32_t>(block * 2654435761 + 1);
  return recipe.scale_format == FormatId::f32 ? hash : 1 + hash % 251;
}

/// Grids of up to this many blocks are stored; the lists of extents make larger ones.
constexpr std::int64_t kMostBlocks = 1 << 12;

ScalePlane stored_plane(const ScaleSubject& s, Direction direction, Extent extent) {
  const Blocks blocks = blocks_of(s.recipe, direction, extent);
  std::vector<std::uint32_t> names;
  for (std::int64_t b = 0; b < blocks.count(); ++b) names.push_back(name_of_block(s.recipe, b));
  return s.rules().plane(s.recipe.scale_format, storage_of(s.recipe, direction), {blocks.grid, names});
}

/// Every byte of the plane, as specified.
ScaleVerdict differing_plane(const ScaleSubject& s, Direction direction, const Storage& storage,
                             const ScalePlane& plane) {
  const std::size_t size = bytes_of(s.recipe);
  if (!(plane.stored == storage.stored) ||
      std::ssize(plane.bytes) != storage.stored.numel() * static_cast<std::int64_t>(size))
    return fmt::format("scales of {} x {} in the {} direction are stored as {} x {}, not {} x {}",
                       s.c.stored_rows, s.c.stored_columns, direction == Direction::row ? "row" : "column",
                       plane.stored.rows, plane.stored.columns, storage.stored.rows, storage.stored.columns);
  std::vector<std::byte> expected(plane.bytes.size());
  for (std::int64_t b = 0; b < plane.grid.numel(); ++b) {
    const std::int64_t i = b / plane.grid.columns, j = b % plane.grid.columns;
    const std::int64_t place =
        storage.turned ? j * storage.stored.columns + i : i * storage.stored.columns + j;
    const std::uint32_t bits = name_of_block(s.recipe, b);
    std::memcpy(expected.data() + static_cast<std::size_t>(place) * size, &bits, size);
  }
  const auto [right, wrong] = std::ranges::mismatch(expected, plane.bytes);
  if (right == expected.end()) return std::nullopt;
  return fmt::format("byte {} of the plane is 0x{:02x}, not 0x{:02x}", right - expected.begin(),
                     static_cast<int>(*wrong), static_cast<int>(*right));
}

/// The sizes of a copy of the case's own matrix.
ScaleVerdict wrong_sizes(const ScaleSubject& s, Direction direction) {
  const auto storage = specified(s.recipe, direction, s.matrix.extent);
  if (!storage) return std::nullopt;
  const QuantizedCopy copy = s.machine.quantized(s.recipe, s.wanted(direction), s.matrix);
  if (copy.scales.stored == storage->stored && copy.codes.size() == s.matrix.values.size())
    return std::nullopt;
  return fmt::format("a copy of {} x {} has {} codes and {} x {} scales, not {} x {}", s.c.rows, s.c.columns,
                     copy.codes.size(), copy.scales.stored.rows, copy.scales.stored.columns,
                     storage->stored.rows, storage->stored.columns);
}

/// The byte of entry (i, j) in the order of products (fp8 3.4), C blocks along the contraction.
std::int64_t swizzled_place(std::int64_t i, std::int64_t j, std::int64_t c) {
  return ((i / 128) * (c / 4) + j / 4) * 512 + (i % 32) * 16 + (i % 128) / 32 * 4 + j % 4;
}

}  // namespace

ScaleVerdict lies_where_it_should(const ScaleSubject& s) {
  const Extent extent{s.c.stored_rows, s.c.stored_columns};
  for (const Direction direction : {Direction::row, Direction::column}) {
    const auto storage = specified(s.recipe, direction, extent);
    if (!storage) continue;
    if (blocks_of(s.recipe, direction, extent).count() <= kMostBlocks) {
      if (auto broken = differing_plane(s, direction, *storage, stored_plane(s, direction, extent)))
        return broken;
    }
    if (auto broken = wrong_sizes(s, direction)) return broken;
  }
  return std::nullopt;
}

ScaleVerdict swizzles_all(const ScaleSubject& s) {
  if (!s.recipe.swizzled_for_products) return std::nullopt;
  const Extent extent{s.c.stored_rows, s.c.stored_columns};
  for (const Direction direction : {Direction::row, Direction::column}) {
    const Blocks blocks = blocks_of(s.recipe, direction, extent);
    if (blocks.count() > kMostBlocks) continue;
    // As stored: entries that name their blocks, padding of zeros. What is padding, the specification says.
    const ScalePlane plane = stored_plane(s, direction, extent);
    const bool by_row = direction == Direction::row;
    const std::int64_t rows = by_row ? plane.stored.rows : plane.stored.columns;
    const std::int64_t along = by_row ? plane.stored.columns : plane.stored.rows;
    const std::vector<std::byte> bytes = s.rules().swizzled(plane, direction);
    std::vector<std::byte> expected(plane.bytes.size());
    for (std::int64_t b = 0; b < blocks.count(); ++b) {
      const std::int64_t row = b / blocks.grid.columns, column = b % blocks.grid.columns;
      const std::int64_t place =
          by_row ? swizzled_place(row, column, along) : swizzled_place(column, row, along);
      expected[static_cast<std::size_t>(place)] = static_cast<std::byte>(name_of_block(s.recipe, b));
    }
    if (bytes != expected)
      return fmt::format("{} x {} scales in the {} direction are not each at their place, with zeros between",
                         rows, along, by_row ? "row" : "column");
    if (unswizzled(bytes, plane.stored, direction) != plane.bytes)
      return fmt::format("{} x {} scales do not come back", rows, along);
  }
  return std::nullopt;
}

ScaleVerdict ignores_padding(const ScaleSubject& s) {
  const std::vector<float> values(s.matrix.values.begin(), s.matrix.values.end());
  const PaddedMatrix before_zeros(s.matrix.extent, values, 0.0f);
  for (const Direction direction : {Direction::row, Direction::column}) {
    QuantizedCopy copy = s.machine.quantized(s.recipe, s.wanted(direction), s.matrix);
    if (!(copy == s.machine.quantized(s.recipe, s.wanted(direction), before_zeros.matrix())))
      return "codes or scales depend on what lies behind the matrix";
    const std::vector<float> numbers = s.machine.dequantized(s.recipe, copy);
    // Bytes that a plane of nothing but ones leaves at zero are padding.
    const std::vector<std::uint32_t> ones(static_cast<std::size_t>(copy.scales.grid.numel()), ~0u);
    const ScalePlane marked =
        scale_plane(s.recipe.scale_format, storage_of(s.recipe, direction), {copy.scales.grid, ones});
    if (marked.bytes.size() != copy.scales.bytes.size()) return "the plane of scales has another size";
    for (std::size_t i = 0; i < marked.bytes.size(); ++i) {
      if (marked.bytes[i] == std::byte{0}) copy.scales.bytes[i] = std::byte{0xff};
    }
    if (!is_same_list(numbers, s.machine.dequantized(s.recipe, copy)))
      return "numbers depend on the padding of scales";
  }
  return std::nullopt;
}

}  // namespace shardcheck
