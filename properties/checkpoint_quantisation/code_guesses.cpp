#include "properties/checkpoint_quantisation/code_guesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "core/numerics/cast_chain.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"
#include "core/recipe/fast_quantize.h"

namespace shardcheck::verify {
namespace {

using namespace recipe;

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

float rounded(FormatId format, float value) {
  return decode(format_of(format), encode(format_of(format), kIeee, bits_of(value)));
}

/// The code of the lower neighbour, with the sign; the largest for what lies beyond it.
std::uint32_t toward_zero(const Format& format, CastPolicy policy, float value) {
  policy.rounding = Rounding::toward_zero;
  return encode(format, policy, bits_of(value));
}

bool has_neighbour_above(const Format& format, std::uint32_t code) {
  return (code & format.magnitude_mask()) < format.max_code;
}

std::uint32_t ties_away(const Format& format, const CastPolicy& policy, float value) {
  const std::uint32_t below = toward_zero(format, policy, value);
  if (!std::isfinite(value) || !has_neighbour_above(format, below)) return below;
  const double magnitude = std::abs(static_cast<double>(value));
  const double low = std::abs(static_cast<double>(decode(format, below)));
  const double high = std::abs(static_cast<double>(decode(format, below + 1)));
  return magnitude - low >= high - magnitude ? below + 1 : below;
}

/// A way to make one code.
struct Way {
  std::string_view clause;
  std::string sentence;
  std::function<std::uint32_t(float x)> code;
};

/// Every code of the specimen comes of it.
bool explains(const Specimen& specimen, const Way& way) {
  for (std::size_t i = 0; i < specimen.values.size(); ++i) {
    if (way.code(specimen.values[i]) != specimen.codes[i]) return false;
  }
  return true;
}

std::vector<Way> ways(const Evidence& evidence, const Specimen& specimen) {
  const Format& format = evidence.subject.elements();
  const Recipe& recipe = evidence.recipe();
  const CastPolicy policy = recipe.cast;
  const float factor = specimen.scale.factor;
  const float inverse = specimen.scale.inverse * evidence.tensor.inverse;
  const auto scaled = [factor, use = recipe.use](float x) {
    return use == ScaleUse::divide ? x / factor : x * factor;
  };
  std::vector<Way> all = {
      {"F3", "rounded toward zero", [=](float x) { return toward_zero(format, policy, scaled(x)); }},
      {"F3", "ties rounded away from zero", [=](float x) { return ties_away(format, policy, scaled(x)); }},
  };
  for (const FormatId middle : {FormatId::bf16, FormatId::f16}) {
    all.push_back({"F12",
                   fmt::format("rounded twice: to {}, then to {}", format_of(middle).name, format.name),
                   [=, id = format.id](float x) {
                     const CastStep steps[] = {{middle, kIeee}, {id, policy}};
                     return encode_through(steps, bits_of(scaled(x)));
                   }});
    all.push_back(
        {"F12", fmt::format("the source was rounded to {} first, its amax was not", format_of(middle).name),
         [=](float x) { return encode(format, policy, bits_of(scaled(rounded(middle, x)))); }});
  }
  for (const NamedCastPolicy& named : kCastPolicies) {
    all.push_back({"F7", fmt::format("overflow, infinity and NaN by {}", named.name),
                   [=, other = named.policy](float x) { return encode(format, other, bits_of(scaled(x))); }});
  }
  all.push_back({"F20", "divided by the stored scale, not multiplied",
                 [=](float x) { return encode(format, policy, bits_of(x / inverse)); }});
  all.push_back({"F20", "multiplied by the reciprocal of the stored scale",
                 [=](float x) { return encode(format, policy, bits_of(x * (1.0f / inverse))); }});
  for (const FormatId id : {FormatId::e4m3, FormatId::e4m3fnuz, FormatId::e5m2, FormatId::e5m2fnuz}) {
    if (id == format.id || format.id == FormatId::e2m1) continue;
    all.push_back({"F3", fmt::format("codes of {}", format_of(id).name),
                   [=](float x) { return encode(format_of(id), policy, bits_of(scaled(x))); }});
  }
  return all;
}

/// fp8 4.2 step 1, where it was not declared: amax, scale and codes of the rounded source.
std::optional<Guess> of_rounded_source(const Evidence& evidence, const Specimen& specimen, FormatId middle) {
  const FormatId elements = evidence.subject.pair().elements;
  const TensorScale tensor =
      tensor_scale_of(evidence.recipe(), elements, rounded(middle, evidence.tensor_amax));
  const BlockScale scale = block_scale(evidence.recipe(), elements, {tensor, rounded(middle, specimen.amax)});
  if (scale.stored != specimen.broken.scale) return std::nullopt;
  const Way way{"F47", fmt::format("the source was rounded to {} first", format_of(middle).name),
                [&](float x) {
                  const float scaled = rounded(middle, x) * scale.factor;
                  return encode(format_of(elements), evidence.recipe().cast, bits_of(scaled));
                }};
  return explains(specimen, way) ? std::optional(Guess{way.clause, way.sentence, ""}) : std::nullopt;
}

/// F13: codes 2i and 2i + 1 changed places.
bool is_swapped(const Specimen& specimen) {
  if (specimen.columns.numel() % 2 != 0) return false;
  for (std::size_t i = 0; i < specimen.codes.size(); ++i) {
    if (specimen.codes[i] != specimen.right[i ^ 1]) return false;
  }
  return true;
}

/// Every code is one of the two around its number.
bool is_between(const Evidence& evidence, const Specimen& specimen) {
  const Format& format = evidence.subject.elements();
  for (std::size_t i = 0; i < specimen.codes.size(); ++i) {
    const float scaled = specimen.values[i] * specimen.scale.factor;
    if (!std::isfinite(scaled)) return false;
    const std::uint32_t below = toward_zero(format, evidence.recipe().cast, scaled);
    const std::uint32_t above = has_neighbour_above(format, below) ? below + 1 : below;
    if (specimen.codes[i] != below && specimen.codes[i] != above) return false;
  }
  return true;
}

/// Bytes that fit nothing are few among right ones: what storage does, and arithmetic does not.
std::optional<Guess> damaged(const Specimen& specimen) {
  const std::int64_t wrong = specimen.wrong_codes();
  const std::int64_t most = std::max<std::int64_t>(2, std::ssize(specimen.codes) / 1000);
  if (wrong == 0 || wrong > most || !specimen.has_right_scale()) return std::nullopt;
  const auto [code, right] = std::ranges::mismatch(specimen.codes, specimen.right);
  if (wrong == 1 && std::popcount(static_cast<unsigned>(*code ^ *right)) == 1)
    return Guess{"F38", "one bit of one code is flipped: damage, not arithmetic",
                 fmt::format("bit {}", std::countr_zero(static_cast<unsigned>(*code ^ *right)))};
  return Guess{"F38", "single codes are wrong among right ones: damage, not arithmetic",
               fmt::format("{} of {}", wrong, specimen.codes.size())};
}

/// Whether codes and scale could be of one quantisation (F23).
bool is_consistent(const Evidence& evidence, const Specimen& specimen) {
  const auto allowed = ScaleImage(evidence.recipe(), evidence.subject.pair().elements, evidence.tensor)
                           .of(specimen.broken.scale);
  // One block that is the whole tensor is larger than its specimen.
  const bool is_whole = evidence.scales.size() == 1 && evidence.has_whole();
  std::uint8_t largest = 0;
  for (const std::uint8_t code : is_whole ? evidence.codes : specimen.codes)
    largest =
        std::max(largest, static_cast<std::uint8_t>(code & evidence.subject.elements().magnitude_mask()));
  return allowed && largest >= allowed->low && largest <= allowed->high;
}

}  // namespace

std::vector<Guess> code_guesses(const Evidence& evidence, const Specimen& specimen) {
  std::vector<Guess> guesses;
  for (const FormatId middle : {FormatId::bf16, FormatId::f16}) {
    if (auto guess = of_rounded_source(evidence, specimen, middle)) guesses.push_back(*guess);
  }
  if (!specimen.has_right_scale() || specimen.codes == specimen.right) return guesses;
  for (const Way& way : ways(evidence, specimen)) {
    if (explains(specimen, way)) guesses.push_back({way.clause, way.sentence, ""});
  }
  if (is_swapped(specimen)) guesses.push_back({"F13", "codes 2i and 2i + 1 changed places", ""});
  constexpr std::int64_t kMoreThanDamage = 3;
  if (specimen.wrong_codes() > kMoreThanDamage && is_between(evidence, specimen))
    guesses.push_back(
        {"F3", "every code is one of the two around its number: stochastic, or no rounding with a name", ""});
  return guesses;
}

std::vector<Guess> last_guesses(const Evidence& evidence, const Specimen& specimen) {
  if (auto guess = damaged(specimen)) return {*guess};
  if (specimen.codes == specimen.right) {
    const bool is_one_bit = std::popcount(specimen.broken.scale ^ specimen.broken.right_scale) == 1;
    return {{"F38",
             is_one_bit ? "the codes are right; one bit of the stored scale is flipped"
                        : "the codes are right; the stored scale is not theirs: stale, or damaged",
             ""}};
  }
  const std::int64_t wrong = specimen.wrong_codes();
  if (wrong * 10 < std::ssize(specimen.codes)) return {};
  if (specimen.has_right_scale())
    return {
        {"F38", "the scale is of this source, the codes are not: bytes and scale of two quantisations", ""}};
  if (is_consistent(evidence, specimen))
    return {{"F38",
             "codes and scale fit each other, but not this source: another version of the weight (stale), or "
             "another weight",
             ""}};
  return {};
}

}  // namespace shardcheck::verify
