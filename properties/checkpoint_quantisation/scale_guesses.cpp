#include "properties/checkpoint_quantisation/scale_guesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "core/numerics/decode.h"
#include "core/recipe/fast_quantize.h"
#include "core/recipe/scales.h"

namespace shardcheck::verify {
namespace {

using namespace recipe;

/// A scale that a block might have had.
struct Other {
  std::string_view clause;
  std::string name;    ///< as in "the stored scale is ..."
  std::string detail;  ///< of this block
  std::uint32_t stored = 0;
  float factor = 1;
};

float factor_of(const Evidence& evidence, float inverse) {
  const float whole = inverse * evidence.tensor.inverse;
  if (evidence.recipe().use == ScaleUse::divide) return whole;
  return std::fmin(1.0f / whole, std::numeric_limits<float>::max());
}

/// The right scale 2^k times as large, or nothing where the format does not hold it.
std::optional<Other> shifted(const Evidence& evidence, const Specimen& specimen, int k) {
  const FormatId format = evidence.recipe().scale_format;
  const float inverse = std::ldexp(specimen.scale.inverse, k);
  Other other{"F20",
              k == 1    ? "twice the right one"
              : k == -1 ? "half the right one"
                        : fmt::format("2^{} times the right one", k),
              "", std::bit_cast<std::uint32_t>(inverse), std::ldexp(specimen.scale.factor, -k)};
  if (format == FormatId::f32) return other;
  const int code = static_cast<int>(specimen.scale.stored) + (format == FormatId::e8m0 ? k : 8 * k);
  if (code < 0 || code > static_cast<int>(format_of(format).max_code)) return std::nullopt;
  other.stored = static_cast<std::uint32_t>(code);
  if (format == FormatId::ue4m3) other.factor = factor_of(evidence, decode(format_of(format), other.stored));
  return other;
}

std::vector<Other> by_powers(const Evidence& evidence, const Specimen& specimen) {
  std::vector<Other> others;
  constexpr int kMost = 12;
  for (int k = 1; k <= kMost; ++k) {
    for (const int power : {k, -k}) {
      if (auto other = shifted(evidence, specimen, power)) others.push_back(*other);
    }
  }
  return others;
}

Other by(const Recipe& recipe, FormatId elements, const Evidence& evidence, float amax) {
  const TensorScale tensor = tensor_scale_of(recipe, elements, evidence.tensor_amax);
  const BlockScale scale = block_scale(recipe, elements, {tensor, amax});
  return {"F20", "", "", scale.stored, scale.factor};
}

std::vector<Other> by_formulas(const Evidence& evidence, const Specimen& specimen) {
  std::vector<Other> others;
  for (const Recipe* recipe : evidence.likely_recipes) {
    others.push_back(by(*recipe, evidence.subject.pair().elements, evidence, specimen.amax));
    others.back().name = fmt::format("that of {}", recipe->name);
  }
  return others;
}

std::vector<Other> by_formats(const Evidence& evidence, const Specimen& specimen) {
  std::vector<Other> others;
  for (const FormatId format : evidence.likely_formats) {
    others.push_back(by(evidence.recipe(), format, evidence, specimen.amax));
    others.back().name =
        fmt::format("that for the largest number of {}, {}", format_of(format).name, largest_of(format));
  }
  return others;
}

/// The amax of other elements than the block's.
std::vector<Other> by_domains(const Evidence& evidence, const Specimen& specimen) {
  const Extent grid = evidence.subject.blocks().grid;
  const std::int64_t row = specimen.block() / grid.columns, column = specimen.block() % grid.columns;
  const AmaxNan nan = evidence.recipe().amax_nan;
  float of_row = 0, of_column = 0;
  for (std::int64_t c = 0; c < grid.columns; ++c)
    of_row = larger(nan, of_row, evidence.amaxes[static_cast<std::size_t>(row * grid.columns + c)]);
  for (std::int64_t r = 0; r < grid.rows; ++r)
    of_column = larger(nan, of_column, evidence.amaxes[static_cast<std::size_t>(r * grid.columns + column)]);
  std::vector<Other> others;
  for (const auto& [amax, name] : {std::pair{evidence.tensor_amax, "from the amax of the whole tensor"},
                                   {of_row, "from the amax of a whole row of blocks"},
                                   {of_column, "from the amax of a whole column of blocks"}}) {
    others.push_back(by(evidence.recipe(), evidence.subject.pair().elements, evidence, amax));
    others.back().name = name;
    others.back().clause = "F38";
  }
  return others;
}

std::vector<Other> of_other_blocks(const Evidence& evidence, const Specimen& specimen) {
  const Extent grid = evidence.subject.blocks().grid;
  const std::int64_t row = specimen.block() / grid.columns, column = specimen.block() % grid.columns;
  std::vector<Other> others;
  const auto add = [&](std::int64_t r, std::int64_t c, const char* name) {
    if (r < 0 || r >= grid.rows || c < 0 || c >= grid.columns) return;
    const BlockScale& scale = evidence.scales[static_cast<std::size_t>(r * grid.columns + c)];
    others.push_back({"F38", name, fmt::format("({}, {})", r, c), scale.stored, scale.factor});
  };
  add(row, column - 1, "that of the block to the left");
  add(row, column + 1, "that of the block to the right");
  add(row - 1, column, "that of the block above");
  add(row + 1, column, "that of the block below");
  // One fp32 number in a million is no coincidence; one power of two in ten is.
  if (evidence.recipe().scale_format != FormatId::f32 || evidence.recipe().power_of_two != PowerOfTwo::no)
    return others;
  const auto found = std::ranges::find(evidence.scales, specimen.broken.scale,
                                       [](const BlockScale& each) { return each.stored; });
  if (found == evidence.scales.end()) return others;
  const std::int64_t other = found - evidence.scales.begin();
  add(other / grid.columns, other % grid.columns, "that of another block");
  return others;
}

std::vector<Other> misread(const Evidence& evidence, const Specimen& specimen) {
  if (evidence.recipe().scale_format != FormatId::f32) return {};
  const BlockScale& right = specimen.scale;
  return {{"F22", "the scale itself, where its inverse belongs", "",
           std::bit_cast<std::uint32_t>(right.factor), right.factor},
          {"F20", "the inverse, where the scale belongs", "", right.stored, right.inverse},
          {"F20", "1: none at all", "", std::bit_cast<std::uint32_t>(1.0f), 1.0f}};
}

/// Whatever is stored, read as the scale that made the codes: its factor to a unit in the last place.
std::vector<Other> as_stored(const Evidence& evidence, const Specimen& specimen) {
  std::vector<Other> others;
  if (specimen.has_right_scale() || specimen.codes == specimen.right) return others;
  const float inverse = scale_value(evidence.recipe().scale_format, specimen.broken.scale);
  if (!std::isfinite(inverse) || inverse <= 0) return others;
  const float factor = factor_of(evidence, inverse);
  for (const float each :
       {factor, std::nextafter(factor, 0.0f), std::nextafter(factor, std::numeric_limits<float>::max())}) {
    others.push_back({"F20", "none that the amax of the block gives, but the codes fit it",
                      fmt::format("{:.6g} times the right one", inverse / specimen.scale.inverse),
                      specimen.broken.scale, each});
  }
  return others;
}

std::vector<std::uint8_t> codes_by(const Evidence& evidence, const Specimen& specimen, float factor) {
  std::vector<std::uint8_t> codes(specimen.values.size());
  const Extent extent{specimen.rows.numel(), specimen.columns.numel()};
  const BlockScale scale{.factor = factor};
  FastQuantizer(evidence.recipe(), evidence.subject.pair().elements)
      .cast({extent, extent.rows, extent.columns, {1, 1}}, std::span(&scale, 1), specimen.values, codes);
  return codes;
}

/// What the other scale explains, if anything.
std::optional<Guess> tried(const Evidence& evidence, const Specimen& specimen, const Other& other) {
  const bool has_right_codes = specimen.codes == specimen.right;
  const bool is_stored = other.stored == specimen.broken.scale && !specimen.has_right_scale();
  if (is_stored && has_right_codes)
    return Guess{other.clause, fmt::format("the codes are right; the stored scale is {}", other.name),
                 other.detail};
  if (has_right_codes || (!is_stored && !specimen.has_right_scale())) return std::nullopt;
  if (codes_by(evidence, specimen, other.factor) != specimen.codes) return std::nullopt;
  if (is_stored)
    return Guess{other.clause, fmt::format("the scale is {}, and made the codes too", other.name),
                 other.detail};
  return Guess{other.clause,
               fmt::format("the stored scale is right; the codes were made with {}", other.name),
               other.detail};
}

}  // namespace

std::vector<Guess> scale_guesses(const Evidence& evidence, const Specimen& specimen) {
  std::vector<Guess> guesses;
  const auto add = [&](const std::vector<Other>& others) {
    for (const Other& other : others) {
      auto guess = tried(evidence, specimen, other);
      const auto has_it = [&](const Guess& each) { return each.sentence == guess->sentence; };
      if (guess && std::ranges::none_of(guesses, has_it)) guesses.push_back(std::move(*guess));
    }
  };
  for (const auto& make : {by_formulas, by_powers, by_formats, misread, of_other_blocks, by_domains})
    add(make(evidence, specimen));
  if (guesses.empty()) add(as_stored(evidence, specimen));
  return guesses;
}

}  // namespace shardcheck::verify
