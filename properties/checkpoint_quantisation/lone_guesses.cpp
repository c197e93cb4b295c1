#include "properties/checkpoint_quantisation/lone_guesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/numerics/decode.h"
#include "properties/checkpoint_quantisation/displacement.h"

namespace shardcheck::verify {
namespace {

using namespace recipe;

std::uint8_t magnitude_of(const Evidence& evidence, std::uint8_t code) {
  return static_cast<std::uint8_t>(code & evidence.subject.elements().magnitude_mask());
}

ScaleImage image_of(const Evidence& evidence, const Recipe& recipe) {
  return {recipe, evidence.subject.pair().elements, evidence.subject.tensor_scale().value_or(TensorScale{})};
}

/// Other recipes that have this scale and this largest code.
std::vector<Guess> by_recipes(const Evidence& evidence, const Specimen& specimen) {
  std::vector<Guess> guesses;
  for (const Candidate& candidate : candidates_of(evidence.subject.pair())) {
    if (candidate.recipe == &evidence.recipe()) continue;
    const ScaleImage image = image_of(evidence, *candidate.recipe);
    const auto allowed = image.of(specimen.broken.scale);
    if (allowed && image.holds(*allowed, specimen.broken.largest))
      guesses.push_back({specimen.broken.clause, fmt::format("as {} quantises", candidate.recipe->name), ""});
  }
  return guesses;
}

/// Codes that use only a part of the range: how much larger the scale was than the amax asks for.
std::optional<Guess> by_range(const Evidence& evidence, const Specimen& specimen) {
  const Format& format = evidence.subject.elements();
  const std::uint8_t largest = specimen.broken.largest;
  if (specimen.broken.clause != "F23" || largest >= specimen.broken.allowed.low || largest == 0)
    return std::nullopt;
  if (format.id == FormatId::e4m3 && largest == 0x77)
    return Guess{"F23", "no code is above 240, the largest number of e4m3fnuz: made for that format", ""};
  const float low = decode(format, specimen.broken.allowed.low);
  const float high = decode(format, specimen.broken.allowed.high);
  const float value = decode(format, largest);
  const std::string factor = low == high
                                 ? fmt::format("about {:.3g}", high / value)
                                 : fmt::format("between {:.3g} and {:.3g}", low / value, high / value);
  return Guess{"F23", "the codes use a part of the range: made with a scale that is too large for this block",
               fmt::format("{} times", factor)};
}

/// The codes that would be in the block if they lay elsewhere; nothing where padding would.
bool fits_displaced(const Evidence& evidence, const Specimen& specimen, const Displacement& displacement,
                    const ScaleImage& image) {
  const Extent extent = evidence.subject.blocks().extent;
  const auto allowed = image.of(specimen.broken.scale);
  std::uint8_t largest = 0;
  // A right code lies now where the inverse displacement says.
  for (std::size_t i = 0; i < specimen.codes.size(); ++i) {
    const std::int64_t at = specimen.element(i, extent.columns);
    std::optional<std::int64_t> now;
    switch (displacement.kind) {
      case Displacement::Kind::transposed:
        now = at % extent.columns * extent.rows + at / extent.columns;
        break;
      case Displacement::Kind::shifted: now = at + displacement.by; break;
      case Displacement::Kind::padded_rows: now = at + at / extent.columns * displacement.by; break;
    }
    if (*now < 0 || *now >= extent.numel()) continue;
    largest = std::max(largest, magnitude_of(evidence, evidence.codes[static_cast<std::size_t>(*now)]));
  }
  return allowed && image.holds(*allowed, largest);
}

/// Displacements that mend every specimen. One that mends a few by chance is no explanation.
std::vector<Guess> by_places(const Evidence& evidence) {
  constexpr std::size_t kFewest = 4;
  const bool is_range = std::ranges::all_of(evidence.specimens,
                                            [](const Specimen& each) { return each.broken.clause == "F23"; });
  if (!evidence.has_whole() || evidence.specimens.size() < kFewest || !is_range) return {};
  const ScaleImage image = image_of(evidence, evidence.recipe());
  std::vector<Guess> guesses;
  for (const Displacement& each : displacements()) {
    const bool mends = std::ranges::all_of(evidence.specimens, [&](const Specimen& specimen) {
      return fits_displaced(evidence, specimen, each, image);
    });
    if (!mends) continue;
    const bool is_turned = each.kind == Displacement::Kind::transposed;
    guesses.push_back(
        {is_turned ? "F33" : "F35", fmt::format("the codes are {}", text_of(each, "element")), ""});
  }
  return guesses;
}

}  // namespace

std::vector<Guess> lone_guesses(const Evidence& evidence, const Specimen& specimen) {
  if (specimen.broken.clause == "F8")
    return {{"F8",
             "codes that are no numbers: NaN or infinity in the source, or an overflow that did not saturate",
             ""}};
  if (specimen.broken.clause == "F21") return {{"F21", "a scale that is no finite number above zero", ""}};
  std::vector<Guess> guesses = by_places(evidence);
  for (Guess& guess : by_recipes(evidence, specimen)) guesses.push_back(std::move(guess));
  if (auto guess = by_range(evidence, specimen)) guesses.push_back(std::move(*guess));
  return guesses;
}

}  // namespace shardcheck::verify
