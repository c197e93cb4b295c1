#include "properties/checkpoint_quantisation/place_guesses.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardcheck::verify {
namespace {

using namespace recipe;

bool are_displaced(const Evidence& evidence, const Specimen& specimen, const Displacement& displacement) {
  const Extent extent = evidence.subject.blocks().extent;
  for (std::size_t i = 0; i < specimen.codes.size(); ++i) {
    const auto from = displacement.from(specimen.element(i, extent.columns), extent);
    const std::uint8_t right = from ? evidence.right[static_cast<std::size_t>(*from)] : 0;
    if (specimen.codes[i] != right) return false;
  }
  return true;
}

/// Of nearly all scales and of this one.
bool is_scale_displaced(const Evidence& evidence, const Specimen& specimen,
                        const Displacement& displacement) {
  if (std::ranges::find(evidence.likely_displacements, displacement) == evidence.likely_displacements.end())
    return false;
  const auto from = displacement.from(specimen.block(), evidence.subject.blocks().grid);
  return from && evidence.scales[static_cast<std::size_t>(*from)].stored == specimen.broken.scale;
}

std::string_view transposition_clause(const Evidence& evidence) {
  return evidence.recipe().block == BlockShape{} ? "F32" : "F33";
}

/// The codes of the block beside it.
std::optional<Guess> of_neighbour(const Evidence& evidence, const Specimen& specimen) {
  const Blocks& blocks = evidence.subject.blocks();
  const Extent extent = blocks.extent;
  struct Side {
    const char* name;
    std::int64_t rows, columns;
  };
  for (const Side& side :
       {Side{"to the left", 0, -1}, {"to the right", 0, 1}, {"above", -1, 0}, {"below", 1, 0}}) {
    const std::int64_t row = specimen.rows.lo + side.rows * blocks.height;
    const std::int64_t column = specimen.columns.lo + side.columns * blocks.width;
    if (row < 0 || column < 0 || row + specimen.rows.numel() > extent.rows ||
        column + specimen.columns.numel() > extent.columns)
      continue;
    const std::int64_t by = side.rows * blocks.height * extent.columns + side.columns * blocks.width;
    if (are_displaced(evidence, specimen, {Displacement::Kind::shifted, -by}))
      return Guess{"F38", fmt::format("the codes are those of the block {}", side.name), ""};
  }
  return std::nullopt;
}

}  // namespace

std::vector<Guess> place_guesses(const Evidence& evidence, const Specimen& specimen) {
  std::vector<Guess> guesses;
  const bool has_right_codes = specimen.codes == specimen.right;
  const Displacement transposed{Displacement::Kind::transposed, 0};
  const bool is_grid_transposed =
      !specimen.has_right_scale() && is_scale_displaced(evidence, specimen, transposed);
  if (has_right_codes && is_grid_transposed)
    guesses.push_back({"F33", "the codes are right; the grid of scales is transposed", ""});
  if (has_right_codes) {
    for (const Displacement& each : evidence.likely_displacements) {
      if (each.kind == Displacement::Kind::shifted && is_scale_displaced(evidence, specimen, each))
        guesses.push_back(
            {"F35", fmt::format("the codes are right; the scales are {}", text_of(each, "block")), ""});
    }
    return guesses;
  }
  if (!evidence.has_whole()) return guesses;
  if (!specimen.has_right_scale()) {
    if (is_grid_transposed && are_displaced(evidence, specimen, transposed))
      guesses.push_back({"F33", "codes and grid of scales are both transposed", ""});
    return guesses;
  }
  for (const Displacement& each : displacements()) {
    if (!are_displaced(evidence, specimen, each)) continue;
    const bool is_turned = each.kind == Displacement::Kind::transposed;
    guesses.push_back({is_turned ? transposition_clause(evidence) : "F35",
                       fmt::format("the codes are {}", text_of(each, "element")), ""});
  }
  if (auto guess = of_neighbour(evidence, specimen)) guesses.push_back(*guess);
  return guesses;
}

}  // namespace shardcheck::verify
