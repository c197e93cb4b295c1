// Loops over the elements of a row that share a block, compiled with -O3 (CMakeLists.txt). Maxima are taken
// of magnitudes as integers, which are ordered like the numbers and which compilers reduce in vectors.
#include "core/recipe/fast_quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/assert.h"

namespace shardcheck::recipe {
namespace {

constexpr std::int32_t kInfinityBits = 0x7f800000;

/// The count as a constant where blocks are short, so that loops over them become a few instructions.
template <class Body>
auto with_count(std::int64_t count, Body body) {
  if (count == 32) return body(std::integral_constant<std::int64_t, 32>{});
  if (count == 16) return body(std::integral_constant<std::int64_t, 16>{});
  if (count == 128) return body(std::integral_constant<std::int64_t, 128>{});
  return body(count);
}

std::int32_t magnitude_bits(float value) {
  return std::bit_cast<std::int32_t>(value) & 0x7fffffff;
}

/// Largest magnitude as bits; NaNs count as 0, or as themselves.
template <bool drops_nan>
inline std::int32_t largest_bits(const float* values, std::int64_t count) {
  std::int32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int32_t bits = magnitude_bits(values[i]);
    if constexpr (drops_nan) bits = bits > kInfinityBits ? 0 : bits;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

/// The reference meets a NaN in the order of elements and keeps the first one's payload.
float first_nan(const float* values, std::int64_t count) {
  const auto* const found =
      std::find_if(values, values + count, [](float value) { return std::isnan(value); });
  return std::abs(*found);
}

float segment_amax(AmaxNan nan, const float* values, std::int64_t count) {
  const std::int32_t bits = with_count(count, [&](auto n) {
    return nan == AmaxNan::drop ? largest_bits<true>(values, n) : largest_bits<false>(values, n);
  });
  return bits > kInfinityBits ? first_nan(values, count) : std::bit_cast<float>(bits);
}

/// Every block is one column wide: a comparison an element, which a NaN loses.
void column_amaxes(const float* values, float* amaxes, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float magnitude = std::abs(values[i]);
    amaxes[i] = magnitude > amaxes[i] ? magnitude : amaxes[i];
  }
}

inline void scale_segment(ScaleUse use, float factor, const float* values, float* scaled,
                          std::int64_t count) {
  if (use == ScaleUse::divide) {
    for (std::int64_t i = 0; i < count; ++i) scaled[i] = values[i] / factor;
  } else {
    for (std::int64_t i = 0; i < count; ++i) scaled[i] = values[i] * factor;
  }
}

void scale_columns(ScaleUse use, const float* factors, const float* values, float* scaled,
                   std::int64_t count) {
  if (use == ScaleUse::divide) {
    for (std::int64_t i = 0; i < count; ++i) scaled[i] = values[i] / factors[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) scaled[i] = values[i] * factors[i];
  }
}

inline std::uint8_t largest_code(const std::uint8_t* codes, std::uint8_t mask, std::int64_t count) {
  std::uint8_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto code = static_cast<std::uint8_t>(codes[i] & mask);
    largest = code > largest ? code : largest;
  }
  return largest;
}

/// Calls visit(first column, columns, block of the grid row) for the pieces of a row.
template <class Visit>
void for_each_segment(const Blocks& blocks, Visit visit) {
  for (std::int64_t b = 0; b < blocks.grid.columns; ++b) {
    const std::int64_t first = b * blocks.width;
    visit(first, std::min(blocks.width, blocks.extent.columns - first), b);
  }
}

}  // namespace

FastQuantizer::FastQuantizer(const Recipe& recipe, FormatId elements)
    : recipe_(recipe), elements_(elements), cast_(format_of(elements), recipe.cast) {
  if (recipe.scale_format != FormatId::e8m0) return;
  for (std::uint32_t code = 0; code < 256; ++code) {
    by_code_.push_back(power_of_two_scale(code));
    if (recipe.use == ScaleUse::divide) by_code_.back().factor = by_code_.back().inverse;
  }
}

std::vector<BlockScale> FastQuantizer::scales(std::span<const float> amaxes) const {
  std::vector<BlockScale> scales(amaxes.size());
  const bool is_reciprocal = recipe_.formula == ScaleFormula::ratio_up_reciprocal;
  if (!is_reciprocal && recipe_.formula != ScaleFormula::ratio_up) {
    for (std::size_t b = 0; b < amaxes.size(); ++b)
      scales[b] = block_scale(recipe_, elements_, {.amax = amaxes[b]});
    return scales;
  }
  const float largest = largest_of(elements_), reciprocal = 1.0f / largest;
  std::vector<float> ratios(amaxes.size());
  for (std::size_t b = 0; b < amaxes.size(); ++b)
    ratios[b] = is_reciprocal ? amaxes[b] * reciprocal : amaxes[b] / largest;
  std::vector<std::uint8_t> codes(amaxes.size());
  const auto overflow = is_reciprocal ? FiniteOverflow::saturate : FiniteOverflow::to_special;
  FastPowerOfTwoCast(PowerOfTwoRounding::up, overflow)(ratios, codes);
  for (std::size_t b = 0; b < codes.size(); ++b) scales[b] = by_code_[codes[b]];
  return scales;
}

void FastQuantizer::take_amaxes(const Blocks& blocks, std::span<const float> values,
                                std::span<float> amaxes) const {
  SC_ASSERT(std::ssize(values) == blocks.extent.numel(), "not the values of the whole matrix");
  SC_ASSERT(std::ssize(amaxes) == blocks.count(), "not one amax a block");
  const std::int64_t columns = blocks.extent.columns;
  for (std::int64_t row = 0; row < blocks.extent.rows && columns > 0; ++row) {
    const float* const from = values.data() + row * columns;
    float* const to = amaxes.data() + row / blocks.height * blocks.grid.columns;
    if (blocks.width == 1 &&
        (recipe_.amax_nan == AmaxNan::drop || largest_bits<false>(from, columns) <= kInfinityBits)) {
      // A NaN that is already there stays, as nothing is larger than it.
      column_amaxes(from, to, columns);
      continue;
    }
    for_each_segment(blocks, [&](std::int64_t first, std::int64_t count, std::int64_t b) {
      to[b] = larger(recipe_.amax_nan, to[b], segment_amax(recipe_.amax_nan, from + first, count));
    });
  }
}

void FastQuantizer::cast(const Blocks& blocks, std::span<const BlockScale> scales,
                         std::span<const float> values, std::span<std::uint8_t> codes) const {
  SC_ASSERT(std::ssize(values) == blocks.extent.numel() && codes.size() == values.size(),
            "not the values and codes of the whole matrix");
  SC_ASSERT(std::ssize(scales) == blocks.count(), "not one scale a block");
  const std::int64_t columns = blocks.extent.columns;
  std::vector<float> factors(static_cast<std::size_t>(blocks.grid.columns));
  std::vector<float> scaled(static_cast<std::size_t>(columns));
  for (std::int64_t row = 0; row < blocks.extent.rows; ++row) {
    if (row % blocks.height == 0) {
      const BlockScale* const first = scales.data() + row / blocks.height * blocks.grid.columns;
      for (std::size_t b = 0; b < factors.size(); ++b) factors[b] = first[b].factor;
    }
    const float* const from = values.data() + row * columns;
    if (blocks.width == 1) {
      scale_columns(recipe_.use, factors.data(), from, scaled.data(), columns);
    } else {
      for_each_segment(blocks, [&](std::int64_t first, std::int64_t count, std::int64_t b) {
        with_count(count, [&](auto n) {
          scale_segment(recipe_.use, factors[static_cast<std::size_t>(b)], from + first,
                        scaled.data() + first, n);
        });
      });
    }
    cast_(std::span<const float>(scaled),
          codes.subspan(static_cast<std::size_t>(row * columns), static_cast<std::size_t>(columns)));
  }
}

void take_largest_codes(const Blocks& blocks, std::uint8_t mask, std::span<const std::uint8_t> codes,
                        std::span<std::uint8_t> largest) {
  SC_ASSERT(std::ssize(codes) == blocks.extent.numel(), "not the codes of the whole matrix");
  SC_ASSERT(std::ssize(largest) == blocks.count(), "not one largest code a block");
  const std::int64_t columns = blocks.extent.columns;
  for (std::int64_t row = 0; row < blocks.extent.rows; ++row) {
    const std::uint8_t* const from = codes.data() + row * columns;
    std::uint8_t* const to = largest.data() + row / blocks.height * blocks.grid.columns;
    if (blocks.width == 1) {
      for (std::int64_t i = 0; i < columns; ++i) {
        const auto code = static_cast<std::uint8_t>(from[i] & mask);
        to[i] = code > to[i] ? code : to[i];
      }
      continue;
    }
    for_each_segment(blocks, [&](std::int64_t first, std::int64_t count, std::int64_t b) {
      to[b] = std::max(to[b], with_count(count, [&](auto n) { return largest_code(from + first, mask, n); }));
    });
  }
}

bool all_finite(std::span<const float> values) {
  return largest_bits<false>(values.data(), std::ssize(values)) < kInfinityBits;
}

}  // namespace shardcheck::recipe
