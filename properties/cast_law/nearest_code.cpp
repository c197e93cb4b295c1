#include "properties/cast_law/nearest_code.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/assert.h"
#include "core/numerics/decode.h"

namespace shardcheck {
namespace {

constexpr std::uint32_t kInfinityBits = 0x7F800000u;

/// As fp32 bits. Values and midpoints have few significant bits (fp8 1.3), so that every one is an fp32
/// number, or 2^128, which no finite number reaches.
std::uint32_t bits_of(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

/// The least magnitude that is nearer to `code`, which means `value`, than to the code before it. The
/// midpoint goes to the even code.
std::uint32_t first_of(std::uint32_t code, double below, double value, Rounding rounding) {
  if (rounding == Rounding::toward_zero) return bits_of(value);
  return bits_of(below + (value - below) / 2) + (code % 2 == 0 ? 0 : 1);
}

/// The same for powers of two.
std::uint32_t first_of(std::uint32_t code, double below, double value, PowerOfTwoRounding rounding) {
  const double midpoint = below + (value - below) / 2;
  switch (rounding) {
    case PowerOfTwoRounding::up: return bits_of(below) + 1;
    case PowerOfTwoRounding::down: return bits_of(value);
    case PowerOfTwoRounding::nearest_even: return bits_of(midpoint) + (code % 2 == 0 ? 0 : 1);
    case PowerOfTwoRounding::nearest_up: return bits_of(midpoint);
  }
  assertion_failed("rounding", "an unnamed rounding of a power of two");
}

NearestCode of_rule(const NamedCast& cast) {
  if (const auto* power = std::get_if<PowerOfTwoPolicy>(&cast.rule)) return NearestCode(*power);
  return NearestCode(format_of(cast.format), std::get<CastPolicy>(cast.rule));
}

/// The codes of what has no nearest number, of either sign.
struct Specials {
  NearestCode::Run overflow, infinity, nan;
};

NearestCode::Run with_signs(const Format& format, std::uint32_t magnitude) {
  return {
      0, {static_cast<std::uint16_t>(magnitude), static_cast<std::uint16_t>(magnitude | format.sign_mask())}};
}

NearestCode::Run nan_of(const Format& format, const CastPolicy& policy) {
  const bool all_ones = policy.nan_code == NanCode::all_ones_or_max;
  NearestCode::Run nan = with_signs(format, all_ones ? format.nan_code : format.quiet_nan_code);
  if (format.encoding == Encoding::finite) {
    nan = with_signs(format, all_ones ? format.max_code : 0);
    if (!all_ones) std::swap(nan.code[0], nan.code[1]);
  }
  if (policy.nan_sign == NanSign::drop) nan.code[1] = nan.code[0];
  return nan;
}

Specials specials_of(const Format& format, const CastPolicy& policy) {
  const NearestCode::Run largest = with_signs(format, format.max_code);
  const std::uint32_t special_code = format.has_infinity() ? format.infinity_code
                                     : format.has_nan()    ? format.nan_code
                                                           : format.max_code;
  const NearestCode::Run special = with_signs(format, special_code);
  const NearestCode::Run overflow = policy.finite_overflow == FiniteOverflow::saturate ? largest : special;
  return {overflow, policy.infinity == InfinityRule::as_overflow ? overflow : special,
          nan_of(format, policy)};
}

}  // namespace

NearestCode::NearestCode(const Format& format, const CastPolicy& policy)
    : has_negative_sources_(format.sign_bits == 1) {
  SC_ASSERT(format.id != FormatId::e8m0 && format.id != FormatId::f32,
            "E8M0 is rounded by powers of two, and fp32 is the source");
  const auto append = [&](std::uint32_t first, Run run) {
    run.first = first;
    runs_.push_back(run);
  };
  append(0, with_signs(format, 0));
  if (format.encoding == Encoding::fnuz) runs_.back().code[1] = 0;  // no -0
  for (std::uint32_t code = 1; code <= format.max_code; ++code) {
    const double below = decode(format, code - 1), value = decode(format, code);
    append(first_of(code, below, value, policy.rounding), with_signs(format, code));
  }
  const double largest = decode(format, format.max_code);
  const double next = largest + (largest - decode(format, format.max_code - 1));  // were the grid to go on
  const Specials specials = specials_of(format, policy);
  append(first_of(format.max_code + 1, largest, next, policy.rounding), specials.overflow);
  append(kInfinityBits, specials.infinity);
  append(kInfinityBits + 1, specials.nan);
}

NearestCode::NearestCode(const PowerOfTwoPolicy& policy) {
  const Format& format = format_of(FormatId::e8m0);
  const auto append = [&](std::uint32_t first, std::uint32_t code) {
    const auto narrow = static_cast<std::uint16_t>(code);
    runs_.push_back({first, {narrow, narrow}});
  };
  append(0, 0);
  for (std::uint32_t code = 1; code <= format.max_code; ++code)
    append(first_of(code, std::ldexp(1.0, static_cast<int>(code) - 128),
                    std::ldexp(1.0, static_cast<int>(code) - 127), policy.rounding),
           code);
  const std::uint32_t overflow =
      policy.overflow == FiniteOverflow::saturate ? format.max_code : format.nan_code;
  append(first_of(format.max_code + 1, 0x1p127, 0x1p128, policy.rounding), overflow);
  append(kInfinityBits, overflow);
  append(kInfinityBits + 1, format.nan_code);
}

NearestCode::NearestCode(const NamedCast& cast) : NearestCode(of_rule(cast)) {}

std::size_t NearestCode::run_of(std::uint32_t magnitude) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), magnitude,
                                      [](std::uint32_t bits, const Run& run) { return bits < run.first; });
  return static_cast<std::size_t>(after - runs_.begin()) - 1;
}

std::uint16_t NearestCode::operator()(std::uint32_t f32_bits) const {
  return runs_[run_of(f32_bits & 0x7FFFFFFFu)].code[f32_bits >> 31];
}

}  // namespace shardcheck
