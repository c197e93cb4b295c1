#include "properties/recipe_law/laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/numerics/decode.h"

namespace shardcheck {
namespace {

using namespace recipe;

struct Broken {
  std::int64_t element;
  std::string sentence;
};
using Verdict = std::optional<Broken>;

/// One matrix with both of its copies, by the quantiser that is judged.
struct Subject {
  const Recipe& recipe;
  Matrix matrix;
  const Quantiser& quantiser;
  QuantizedCopy rows, columns;

  const Format& format() const { return format_of(recipe.forward); }
  QuantizedCopy quantized(Direction direction, Extent extent, const std::vector<float>& values) const {
    return quantiser(recipe, {direction, recipe.forward, 1}, {extent, values});
  }
  std::vector<float> values() const { return {matrix.values.begin(), matrix.values.end()}; }
  Blocks blocks() const { return blocks_of(recipe.block, Direction::row, matrix.extent); }
  float value(std::size_t i) const { return matrix.values[i]; }
};

std::vector<float> turned(Extent extent, const std::vector<float>& values) {
  std::vector<float> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    result[static_cast<std::size_t>(at % extent.columns * extent.rows + at / extent.columns)] = values[i];
  }
  return result;
}

/// The first element at which two lists of codes differ.
Verdict differing_codes(const QuantizedCopy& expected, const QuantizedCopy& actual, std::string_view what) {
  const auto [right, wrong] = std::ranges::mismatch(expected.codes, actual.codes);
  if (right == expected.codes.end()) return std::nullopt;
  return Broken{right - expected.codes.begin(),
                fmt::format("{}: code 0x{:02x} instead of 0x{:02x}", what, *wrong, *right)};
}

Verdict differing_scales(const QuantizedCopy& expected, const QuantizedCopy& actual, std::string_view what) {
  if (expected.scales == actual.scales) return std::nullopt;
  return Broken{-1, fmt::format("{}: other scales", what)};
}

/// F23: the largest element of a block gets the largest code; half of it with powers of two.
Verdict largest_code(const Subject& s) {
  if (s.recipe.formula != ScaleFormula::quotient) return std::nullopt;
  const Blocks blocks = s.blocks();
  std::vector<std::uint8_t> largest(static_cast<std::size_t>(blocks.count()));
  std::vector<float> amaxes(largest.size());
  take_amaxes(blocks, AmaxNan::drop, {0, s.matrix.values}, amaxes);
  const auto mask = static_cast<std::uint8_t>(s.format().magnitude_mask());
  for (std::size_t i = 0; i < s.rows.codes.size(); ++i) {
    std::uint8_t& most = largest[static_cast<std::size_t>(blocks.of(static_cast<std::int64_t>(i)))];
    most = std::max<std::uint8_t>(most, s.rows.codes[i] & mask);
  }
  const float half = decode(s.format(), s.format().max_code) / 2;
  for (std::size_t b = 0; b < largest.size(); ++b) {
    if (amaxes[b] == 0) continue;
    const float value = decode(s.format(), largest[b]);
    const bool fits =
        s.recipe.power_of_two == PowerOfTwo::no ? largest[b] == s.format().max_code : value >= half;
    if (!fits) return Broken{-1, fmt::format("the largest code of block {} is 0x{:02x}", b, largest[b])};
  }
  return std::nullopt;
}

/// F25: a power of two moves the scale only.
Verdict covariance(const Subject& s) {
  if (s.recipe.epsilon != 0 || s.recipe.formula == ScaleFormula::given) return std::nullopt;
  for (const int k : {-9, 9}) {
    std::vector<float> moved = s.values();
    for (float& value : moved) value = std::ldexp(value, k);
    const auto copy = s.quantized(Direction::row, s.matrix.extent, moved);
    if (auto broken = differing_codes(s.rows, copy, fmt::format("all numbers times 2^{}", k))) return broken;
  }
  return std::nullopt;
}

/// F26: zeros have codes of zeros, and come back as zeros.
Verdict zeros(const Subject& s) {
  const std::vector<float> back = dequantize(s.recipe, s.rows);
  for (std::size_t i = 0; i < back.size(); ++i) {
    if (s.value(i) == 0 && !(back[i] == 0))
      return Broken{static_cast<std::int64_t>(i), fmt::format("a zero comes back as {}", back[i])};
  }
  return std::nullopt;
}

/// F28. The bound of one rounding to the format and three of fp32. Where a formula lets the largest elements
/// saturate (fp8 2.5), those are not asked.
Verdict near(const Subject& s) {
  if (s.recipe.formula == ScaleFormula::given || s.recipe.formula == ScaleFormula::two_level)
    return std::nullopt;
  const std::vector<float> back = dequantize(s.recipe, s.rows);
  const std::vector<std::uint32_t> grid = grid_in(s.rows.scales, s.recipe.row_scales);
  const Blocks blocks = s.blocks();
  const double u = std::ldexp(1.0, -s.format().mantissa_bits - 1);
  const bool may_saturate =
      s.recipe.formula == ScaleFormula::exponent_down || s.recipe.formula == ScaleFormula::exponent_even;
  for (std::size_t i = 0; i < back.size(); ++i) {
    if (may_saturate && (s.rows.codes[i] & s.format().magnitude_mask()) == s.format().max_code) continue;
    const double x = static_cast<double>(s.value(i));
    const auto block = static_cast<std::size_t>(blocks.of(static_cast<std::int64_t>(i)));
    const double inverse = static_cast<double>(decode(format_of(s.recipe.scale_format), grid[block]));
    const double normal = std::abs(x) * ((1 + u) * std::pow(1 + 0x1p-24, 3) - 1);
    const double subnormal =
        std::ldexp(1 + 0x1p-20, s.format().smallest_exponent() - s.format().mantissa_bits - 1) * inverse;
    const double error = std::abs(static_cast<double>(back[i]) - x);
    if (!(error <= std::max(normal, subnormal)))
      return Broken{static_cast<std::int64_t>(i), fmt::format("{} comes back as {}", x, back[i])};
  }
  return std::nullopt;
}

/// F30: a large number in the first or in the last block changes no other block.
Verdict independence(const Subject& s) {
  if (s.recipe.formula == ScaleFormula::two_level) return std::nullopt;
  const Blocks blocks = s.blocks();
  const std::vector<std::uint32_t> grid = grid_in(s.rows.scales, s.recipe.row_scales);
  for (const std::size_t place : {std::size_t{0}, s.matrix.values.size() - 1}) {
    const std::int64_t block = blocks.of(static_cast<std::int64_t>(place));
    std::vector<float> changed = s.values();
    changed[place] = 0x1.8p30f;
    const auto copy = s.quantized(Direction::row, s.matrix.extent, changed);
    for (std::size_t i = 0; i < changed.size(); ++i) {
      if (blocks.of(static_cast<std::int64_t>(i)) != block && copy.codes[i] != s.rows.codes[i])
        return Broken{static_cast<std::int64_t>(i), "a change in another block changes its code"};
    }
    const std::vector<std::uint32_t> other = grid_in(copy.scales, s.recipe.row_scales);
    for (std::int64_t b = 0; b < blocks.count(); ++b) {
      if (b != block && grid[static_cast<std::size_t>(b)] != other[static_cast<std::size_t>(b)])
        return Broken{-1, fmt::format("a change in another block changes the scale of block {}", b)};
    }
  }
  return std::nullopt;
}

/// F31: negation flips sign bits and nothing else.
Verdict negation(const Subject& s) {
  std::vector<float> negated = s.values();
  for (float& value : negated) value = -value;
  QuantizedCopy expected = s.rows;
  for (std::uint8_t& code : expected.codes) code = static_cast<std::uint8_t>(code ^ s.format().sign_mask());
  const auto copy = s.quantized(Direction::row, s.matrix.extent, negated);
  if (auto broken = differing_codes(expected, copy, "all numbers negated")) return broken;
  return differing_scales(expected, copy, "all numbers negated");
}

/// F31: rows in another order give codes and scales in that order, where no block holds two rows of several.
Verdict row_order(const Subject& s) {
  const Extent extent = s.matrix.extent;
  const std::int64_t across = s.recipe.block.across;
  if (across > 1 || extent.rows < 2) return std::nullopt;
  std::vector<float> moved = s.values();
  std::ranges::rotate(moved, moved.begin() + extent.columns);
  QuantizedCopy expected = s.rows;
  std::ranges::rotate(expected.codes, expected.codes.begin() + extent.columns);
  const auto copy = s.quantized(Direction::row, extent, moved);
  if (auto broken = differing_codes(expected, copy, "the first row moved to the end")) return broken;
  std::vector<std::uint32_t> grid = grid_in(s.rows.scales, s.recipe.row_scales);
  if (across == 1) std::ranges::rotate(grid, grid.begin() + s.blocks().grid.columns);
  if (grid == grid_in(copy.scales, s.recipe.row_scales)) return std::nullopt;
  return Broken{-1, "the first row moved to the end: other scales"};
}

Verdict symmetry(const Subject& s) {
  if (auto broken = negation(s)) return broken;
  return row_order(s);
}

/// F32, F33: a second copy that follows from the first is what the quantiser makes of itself.
Verdict derived(const Subject& s) {
  const QuantizedCopy expected = second_copy_of(s.recipe, s.rows);
  if (auto broken = differing_codes(expected, s.columns, "the column copy")) return broken;
  return differing_scales(expected, s.columns, "the column copy");
}

/// F34: the columns of a matrix are the rows of its transpose.
Verdict requantised(const Subject& s) {
  const auto of_turned =
      s.quantized(Direction::row, s.matrix.extent.transposed(), turned(s.matrix.extent, s.values()));
  const std::vector<float> expected = turned(s.matrix.extent.transposed(), dequantize(s.recipe, of_turned));
  const std::vector<float> actual = dequantize(s.recipe, s.columns);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (expected[i] != actual[i])
      return Broken{static_cast<std::int64_t>(i),
                    fmt::format("the column copy says {}, the transpose's rows {}", actual[i], expected[i])};
  }
  return std::nullopt;
}

struct Law {
  std::string_view clause;
  Verdict (*judge)(const Subject& s);
};

}  // namespace

std::vector<Finding> judge_recipe(const Recipe& recipe, const Matrix& matrix, const Quantiser& quantiser) {
  const Wanted rows{Direction::row, recipe.forward, 1}, columns{Direction::column, recipe.forward, 1};
  const Subject subject{recipe, matrix, quantiser, quantiser(recipe, rows, matrix),
                        quantiser(recipe, columns, matrix)};
  std::vector<Law> laws = {{"F23", largest_code}, {"F25", covariance},   {"F26", zeros},
                           {"F28", near},         {"F30", independence}, {"F31", symmetry}};
  if (recipe.second_copy == SecondCopy::transposed) laws.push_back({"F32", derived});
  if (recipe.second_copy == SecondCopy::transposed_with_grid) laws.push_back({"F33", derived});
  if (!is_derivable(recipe.second_copy)) laws.push_back({"F34", requantised});
  std::vector<Finding> findings;
  for (const Law& law : laws) {
    const Verdict broken = law.judge(subject);
    if (!broken) continue;
    Finding found{.clause = std::string(law.clause),
                  .sentence = fmt::format("{}: {}", recipe.name, broken->sentence)};
    found.element = broken->element;
    findings.push_back(std::move(found));
  }
  return findings;
}

}  // namespace shardcheck
