#include "properties/cast_law/nearest_code.h"

#include <algorithm>
#include <bit>

#include "core/assert.h"
#include "core/numerics/decode.h"

namespace shardcheck {
namespace {

constexpr std::uint32_t kInfinityBits = 0x7F800000u;

/// The least magnitude (as fp32 bits) that is nearer to `code` than to the code before it. The midpoint has
/// at most five significant bits (fp8 1.3), so that it is an fp32 number; it goes to the even code.
std::uint32_t first_of(std::uint32_t code, float below, float value, Rounding rounding) {
  if (rounding == Rounding::toward_zero) return std::bit_cast<std::uint32_t>(value);
  const float midpoint = below + (value - below) / 2;
  return std::bit_cast<std::uint32_t>(midpoint) + (code % 2 == 0 ? 0 : 1);
}

}  // namespace

NearestCode::NearestCode(const Format& format, const CastPolicy& policy) {
  SC_ASSERT(format.width() == 8 && format.sign_bits == 1 && format.encoding != Encoding::fnuz,
            "casts are judged for E4M3 and E5M2");
  const auto with_signs = [&](std::uint32_t magnitude) {
    return Run{0, {static_cast<std::uint8_t>(magnitude), static_cast<std::uint8_t>(magnitude | 0x80u)}};
  };
  const auto append = [&](std::uint32_t first, Run run) {
    run.first = first;
    runs_.push_back(run);
  };
  append(0, with_signs(0));
  for (std::uint32_t code = 1; code <= format.max_code; ++code) {
    const float below = decode(format, code - 1), value = decode(format, code);
    append(first_of(code, below, value, policy.rounding), with_signs(code));
  }
  const float largest = decode(format, format.max_code);
  const float next = largest + (largest - decode(format, format.max_code - 1));  // were the grid to go on
  const Run special = with_signs(format.has_infinity() ? format.infinity_code : format.nan_code);
  const bool saturates = policy.finite_overflow == FiniteOverflow::saturate;
  const Run overflow = saturates ? with_signs(format.max_code) : special;
  append(first_of(format.max_code + 1, largest, next, policy.rounding), overflow);
  append(kInfinityBits, policy.infinity == InfinityRule::as_overflow ? overflow : special);
  Run nan = with_signs(policy.nan_code == NanCode::all_ones_or_max ? format.nan_code : format.quiet_nan_code);
  if (policy.nan_sign == NanSign::drop) nan.code[1] = nan.code[0];
  append(kInfinityBits + 1, nan);
}

std::uint8_t NearestCode::operator()(std::uint32_t f32_bits) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), f32_bits & 0x7FFFFFFFu,
                                      [](std::uint32_t bits, const Run& run) { return bits < run.first; });
  return std::prev(after)->code[f32_bits >> 31];
}

}  // namespace shardcheck
