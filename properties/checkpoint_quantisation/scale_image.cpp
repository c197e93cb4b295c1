#include "properties/checkpoint_quantisation/scale_image.h"

#include <bit>
#include <cmath>
#include <limits>

#include "core/numerics/decode.h"
#include "core/numerics/encode.h"

namespace shardcheck::verify {
namespace {

using namespace recipe;

constexpr std::uint32_t kSmallestBits = 1, kLargestBits = 0x7f7fffff;  ///< of positive finite amaxes
constexpr std::uint32_t kMantissa = 0x7fffff;

bool has_table(const Recipe& recipe) {
  return recipe.scale_format != FormatId::f32 || recipe.power_of_two != PowerOfTwo::no;
}

/// A scale's place in the table, or nothing where it is none of those.
std::optional<std::size_t> place_of(const Recipe& recipe, std::uint32_t stored) {
  if (recipe.scale_format != FormatId::f32) return stored;
  // 2^-127, the inverse of the largest power of two, is the only subnormal power (fp8 3.0).
  if (stored == 0x00400000) return 0;
  if ((stored & kMantissa) != 0 || stored == 0 || stored >= 0x7f800000) return std::nullopt;
  return stored >> 23;
}

}  // namespace

ScaleImage::ScaleImage(const Recipe& recipe, FormatId elements, TensorScale tensor)
    : recipe_(recipe), elements_(elements), tensor_(tensor), full_(format_of(elements).max_code) {
  of_zero_ = scale(0).stored;
  of_infinity_ = scale(std::numeric_limits<float>::infinity()).stored;
  of_smallest_ = scale(std::bit_cast<float>(kSmallestBits)).stored;
  of_largest_ = scale(std::bit_cast<float>(kLargestBits)).stored;
  if (!has_table(recipe)) return;
  const bool is_short = recipe.scale_format != FormatId::f32;
  table_.resize(is_short ? format_of(recipe.scale_format).code_count() : 256);
  for (std::uint32_t i = 0; i < table_.size(); ++i) {
    table_[i] = searched(is_short ? i : i == 0 ? 0x00400000u : i << 23);
  }
}

BlockScale ScaleImage::scale(float amax) const {
  return block_scale(recipe_, elements_, {tensor_, amax});
}

std::uint8_t ScaleImage::code_of(float amax) const {
  const float factor = scale(amax).factor;
  const float scaled = recipe_.use == ScaleUse::divide ? amax / factor : amax * factor;
  return static_cast<std::uint8_t>(
      encode(format_of(elements_), recipe_.cast, std::bit_cast<std::uint32_t>(scaled)));
}

std::optional<LargestCodes> ScaleImage::searched(std::uint32_t stored) const {
  const float inverse = decode(format_of(recipe_.scale_format), stored);
  LargestCodes codes{
      .low = 1, .high = 0, .may_be_zero = stored == of_zero_, .may_be_full = stored == of_infinity_};
  // The first amax whose inverse is not below, and the first whose inverse is above.
  const auto first = [&](auto is_beyond) {
    std::uint32_t low = kSmallestBits, high = kLargestBits + 1;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (is_beyond(scale(std::bit_cast<float>(middle)).inverse)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  const std::uint32_t begin = first([&](float each) { return each >= inverse; });
  const std::uint32_t end = first([&](float each) { return each > inverse; });
  if (begin < end && scale(std::bit_cast<float>(begin)).stored == stored) {
    codes.low = code_of(std::bit_cast<float>(begin));
    codes.high = code_of(std::bit_cast<float>(end - 1));
  } else if (!codes.may_be_zero && !codes.may_be_full) {
    return std::nullopt;
  }
  return codes;
}

/// fp32 scales are as many as amaxes: the one that gives this scale lies within a few steps of inverse *
/// fmax.
std::optional<LargestCodes> ScaleImage::near(std::uint32_t stored) const {
  constexpr std::int32_t kSteps = 4;  // three roundings lie between the two
  const float guess = std::bit_cast<float>(stored) * largest_of(elements_);
  if (!std::isfinite(guess) || guess == 0) return searched(stored);
  const auto bits = std::bit_cast<std::int32_t>(guess);
  for (std::int32_t step = 0; step <= kSteps; ++step) {
    for (const std::int32_t near : {bits + step, bits - step}) {
      if (near < static_cast<std::int32_t>(kSmallestBits) || near > static_cast<std::int32_t>(kLargestBits))
        continue;
      const float amax = std::bit_cast<float>(near);
      if (scale(amax).stored != stored) continue;
      const std::uint8_t code = code_of(amax);
      return LargestCodes{.low = code, .high = code};
    }
  }
  return std::nullopt;
}

std::optional<LargestCodes> ScaleImage::of(std::uint32_t stored) const {
  if (!table_.empty()) {
    const auto place = place_of(recipe_, stored);
    return place && *place < table_.size() ? table_[*place] : std::nullopt;
  }
  const float inverse = std::bit_cast<float>(stored);
  if (!std::isfinite(inverse) || !(inverse > 0)) return std::nullopt;
  // At the ends many amaxes share a scale: zeros, those below epsilon, and those whose quotient overflows.
  const bool is_at_end =
      stored == of_zero_ || stored == of_infinity_ || stored == of_smallest_ || stored == of_largest_;
  return is_at_end ? searched(stored) : near(stored);
}

}  // namespace shardcheck::verify
