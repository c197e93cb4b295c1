#include "backends/cpu/block_ops.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "backends/cpu/element.h"
#include "core/assert.h"
#include "core/numerics/decode.h"
#include "core/recipe/catalogue.h"
#include "core/recipe/delayed.h"
#include "core/recipe/quantize.h"

namespace shardcheck::cpu {
namespace {

using recipe::Direction;
using recipe::Recipe;

const Recipe& recipe_of(const BlockCopy& of) {
  SC_ASSERT(of.recipe >= 0 && of.recipe < std::ssize(recipe::recipes()),
            "the recipe is not in the catalogue");
  const Recipe& named = recipe::recipes()[static_cast<std::size_t>(of.recipe)];
  SC_ASSERT(named.formula != recipe::ScaleFormula::two_level, "ops on blocks have one level of scales");
  return named;
}

recipe::Blocks blocks_of(const BlockCopy& of) {
  return recipe::blocks_of(recipe_of(of), of.direction, {of.rows, of.columns});
}

std::vector<float> widened(const Range& range) {
  std::vector<float> values(static_cast<std::size_t>(range.numel));
  with_element(range.dtype, [&](auto e) {
    using E = decltype(e);
    const auto* from = reinterpret_cast<const typename E::Stored*>(range.data);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = E::widen(from[i]);
  });
  return values;
}

FormatId format_of_codes(const Range& codes) {
  SC_ASSERT(codes.dtype == DType::e4m3 || codes.dtype == DType::e5m2, "codes of blocks are FP8");
  return *format_id_of(codes.dtype);
}

std::span<float> floats(const Range& range) {
  SC_ASSERT(range.dtype == DType::f32, "an operand is not fp32");
  return {reinterpret_cast<float*>(range.data), static_cast<std::size_t>(range.numel)};
}

std::span<std::uint8_t> codes_in(const Range& range) {
  return {reinterpret_cast<std::uint8_t*>(range.data), static_cast<std::size_t>(range.numel)};
}

void store_plane(const recipe::ScalePlane& plane, const Range& to) {
  SC_ASSERT(std::ssize(plane.bytes) == to.bytes(), "a plane of scales has another size");
  std::memcpy(to.data, plane.bytes.data(), plane.bytes.size());
}

recipe::ScalePlane plane_in(const Range& from, const recipe::ScalePlane& like) {
  recipe::ScalePlane plane = like;
  SC_ASSERT(std::ssize(plane.bytes) == from.bytes(), "a plane of scales has another size");
  std::memcpy(plane.bytes.data(), from.data, plane.bytes.size());
  return plane;
}

/// A plane of that copy with scales of zero.
recipe::ScalePlane empty_plane(const BlockCopy& of) {
  const Recipe& named = recipe_of(of);
  const recipe::Blocks blocks = blocks_of(of);
  const std::vector<std::uint32_t> zeros(static_cast<std::size_t>(blocks.count()));
  return recipe::scale_plane(named.scale_format, recipe::storage_of(named, of.direction),
                             {blocks.grid, zeros});
}

/// What every code of one byte means.
using Numbers = std::array<float, 256>;

const Numbers& numbers_of(FormatId format) {
  static const auto make = [](FormatId id) {
    Numbers numbers{};
    for (std::uint32_t code = 0; code < numbers.size(); ++code) numbers[code] = decode(format_of(id), code);
    return numbers;
  };
  static const Numbers e4m3 = make(FormatId::e4m3), e5m2 = make(FormatId::e5m2), e8m0 = make(FormatId::e8m0);
  SC_ASSERT(format == FormatId::e4m3 || format == FormatId::e5m2 || format == FormatId::e8m0,
            "a format without a table");
  return format == FormatId::e4m3 ? e4m3 : format == FormatId::e5m2 ? e5m2 : e8m0;
}

void store_copy(const recipe::QuantizedCopy& copy, const CopyRanges& to) {
  SC_ASSERT(std::ssize(copy.codes) == to.codes.numel, "a copy has another number of codes");
  std::ranges::copy(copy.codes, codes_in(to.codes).begin());
  store_plane(copy.scales, to.scales);
}

}  // namespace

void take_amax(const TakeAmax& take, const SourceTo& ranges) {
  const std::vector<float> values = widened(ranges.source);
  const recipe::Blocks blocks = blocks_of(take.of);
  SC_ASSERT(blocks.count() == ranges.destination.numel, "not one amax a block");
  recipe::take_amaxes(blocks, recipe_of(take.of).amax_nan, {take.start, values}, floats(ranges.destination));
}

void scale_from_amax(const ScaleFromAmax& scale, const ScaleRanges& ranges) {
  const Recipe& named = recipe_of(scale.of);
  const recipe::Blocks blocks = blocks_of(scale.of);
  SC_ASSERT(blocks.count() == ranges.amaxes.numel && blocks.count() == ranges.factors.numel,
            "not one amax and one factor a block");
  const recipe::Scales scales = recipe::scales_of(named, named.forward, {.amaxes = floats(ranges.amaxes)});
  std::vector<std::uint32_t> stored;
  for (std::size_t b = 0; b < scales.blocks.size(); ++b) {
    floats(ranges.factors)[b] = scales.blocks[b].factor;
    stored.push_back(scales.blocks[b].stored);
  }
  store_plane(recipe::scale_plane(named.scale_format, recipe::storage_of(named, scale.of.direction),
                                  {blocks.grid, stored}),
              ranges.stored);
}

void quantize_blocks(const QuantizeBlocks& quantize, const ScaledRanges& ranges) {
  const std::vector<float> values = widened(ranges.source);
  const std::span<const float> factors = floats(ranges.scale);
  recipe::Scales scales;
  for (const float factor : factors) scales.blocks.push_back({.factor = factor});
  recipe::cast_piece(recipe_of(quantize.of), format_of_codes(ranges.destination), blocks_of(quantize.of),
                     scales, {quantize.start, values}, codes_in(ranges.destination));
}

void dequantize_blocks(const DequantizeBlocks& dequantize, const ScaledRanges& ranges) {
  const Recipe& named = recipe_of(dequantize.of);
  const recipe::Blocks blocks = blocks_of(dequantize.of);
  const std::vector<std::uint32_t> grid = recipe::grid_in(plane_in(ranges.scale, empty_plane(dequantize.of)),
                                                          recipe::storage_of(named, dequantize.of.direction));
  const Numbers& numbers = numbers_of(format_of_codes(ranges.source));
  const bool has_powers = named.scale_format == FormatId::e8m0;
  std::vector<float> scales;
  for (const std::uint32_t bits : grid)
    scales.push_back(has_powers ? numbers_of(FormatId::e8m0)[bits] : std::bit_cast<float>(bits));
  const std::span<const std::uint8_t> codes = codes_in(ranges.source);
  if (codes.empty()) return;  // of a matrix that may have no columns
  with_element(ranges.destination.dtype, [&](auto e) {
    using E = decltype(e);
    auto* to = reinterpret_cast<typename E::Stored*>(ranges.destination.data);
    std::int64_t column = dequantize.start % dequantize.of.columns;
    for (std::size_t i = 0; i < codes.size();) {
      // As far as the block goes in this row.
      const std::int64_t width =
          std::min(blocks.width - column % blocks.width, dequantize.of.columns - column);
      const std::size_t end = std::min(i + static_cast<std::size_t>(width), codes.size());
      const float scale =
          scales[static_cast<std::size_t>(blocks.of(dequantize.start + static_cast<std::int64_t>(i)))];
      for (; i < end; ++i) {
        const float value = numbers[codes[i]] * scale;
        to[i] = E::narrow(value == value ? value : std::bit_cast<float>(0x7FC00000u));
      }
      column = (column + width) % dequantize.of.columns;
    }
  });
}

void quantize_matrix(const QuantizeMatrix& quantize, const Range& source, const CopyRanges& row,
                     const CopyRanges& column) {
  const Recipe& named = recipe_of(quantize.of);
  const std::vector<float> values = widened(source);
  const recipe::Matrix matrix{{quantize.of.rows, quantize.of.columns}, values};
  const auto make = [&](Direction direction, const CopyRanges& to) {
    if (to.codes.numel == 0) return;
    const recipe::Wanted wanted{.direction = direction, .elements = format_of_codes(to.codes)};
    store_copy(recipe::quantize(named, wanted, matrix), to);
  };
  make(Direction::row, row);
  make(Direction::column, column);
}

void derive_column_copy(const DeriveColumnCopy& derive, const CopyRanges& row, const CopyRanges& column) {
  const Recipe& named = recipe_of(derive.of);
  BlockCopy of = derive.of;
  of.direction = Direction::row;
  const std::span<const std::uint8_t> codes = codes_in(row.codes);
  const recipe::Extent extent{derive.of.rows, derive.of.columns};
  const recipe::QuantizedCopy first{.elements = format_of_codes(row.codes),
                                    .source = extent,
                                    .stored = extent,
                                    .codes = {codes.begin(), codes.end()},
                                    .scales = plane_in(row.scales, empty_plane(of))};
  store_copy(recipe::second_copy_of(named, first), column);
}

void close_delayed_step(const CloseDelayedStep& close, const DelayedRanges& ranges) {
  const std::span<float> history = floats(ranges.history), state = floats(ranges.scale_and_inverse);
  const recipe::DelayedOptions options{
      .history_length = ranges.history.numel,
      .choice = close.most_recent ? recipe::AmaxChoice::most_recent : recipe::AmaxChoice::max,
      .zero_step = close.rolls_on_zero ? recipe::ZeroStep::roll : recipe::ZeroStep::keep,
      .margin = close.margin,
      .largest = close.largest};
  recipe::DelayedScaling scaling{state[0], state[1], {history.begin(), history.end()}};
  recipe::close_step(options, scaling, floats(ranges.amax)[0]);
  std::ranges::copy(scaling.history, history.begin());
  state[0] = scaling.scale;
  state[1] = scaling.scale_inverse;
}

}  // namespace shardcheck::cpu
