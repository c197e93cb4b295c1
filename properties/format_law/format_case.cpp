#include "properties/format_law/format_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "core/numerics/decode.h"
#include "properties/cast_law/cast_inputs.h"
#include "properties/format_law/number_machine.h"

namespace shardcheck {
namespace {

const std::vector<NamedCast>& casts_of(FormatId format) {
  static const auto all = [] {
    std::map<FormatId, std::vector<NamedCast>> casts;
    for (const FormatId each : kNarrowFormats) casts[each] = named_casts(each);
    return casts;
  }();
  return all.at(format);
}

/// The nearest number of the type.
std::uint32_t rounded(DType type, std::uint32_t f32_bits) {
  if (type == DType::f32) return f32_bits;
  const Format& format = format_of(*format_id_of(type));
  return std::bit_cast<std::uint32_t>(decode(format, encode(format, kIeee, f32_bits)));
}

/// Distance of two neighbours of the type as fp32 bits, for normal numbers.
std::uint32_t step_of(DType type) {
  return type == DType::f32 ? 1u : type == DType::bf16 ? 1u << 16 : 1u << 13;
}

bool is_nan(std::uint32_t bits) {
  return (bits & 0x7fffffffu) > 0x7f800000u;
}

}  // namespace

FormatCase random_format_case(Draw& draw) {
  FormatCase c;
  c.format = kNarrowFormats[draw.below(static_cast<std::int32_t>(std::size(kNarrowFormats)))];
  const auto& casts = casts_of(c.format);
  const NamedCast& cast = casts[static_cast<std::size_t>(draw.below(std::ssize(casts)))];
  c.policy = cast.name;
  if (is_cast_op(c.format)) c.source = draw.pick({DType::f32, DType::f32, DType::bf16, DType::f16});
  const NearestCode nearest(cast);
  constexpr int kPlaces = 16;
  for (int i = 0; i < kPlaces; ++i) {
    const std::uint32_t place = draw_f32(draw, nearest);
    for (const std::uint32_t bits : {place - step_of(c.source), place, place + step_of(c.source)}) {
      const std::uint32_t number = rounded(c.source, bits);
      if (cast.takes(number)) c.inputs.push_back(number);
    }
  }
  c.shift = draw.below(20);
  c.random_bits = draw.pick({8, 8, 4, 1});
  c.seed = draw.word();
  return c;
}

const NamedCast* cast_of(const FormatCase& c) {
  if (std::ranges::find(kNarrowFormats, c.format) == std::end(kNarrowFormats)) return nullptr;
  const auto& casts = casts_of(c.format);
  const auto found = std::ranges::find(casts, c.policy, &NamedCast::name);
  return found == casts.end() ? nullptr : &*found;
}

bool has_number(DType type, std::uint32_t f32_bits) {
  return is_nan(f32_bits) || rounded(type, f32_bits) == f32_bits;
}

std::string describe(const FormatCase& c) {
  std::string text = fmt::format("{} by {} from {}: ", format_of(c.format).name, c.policy, name_of(c.source));
  constexpr std::size_t kShown = 4;
  if (c.inputs.size() > kShown) {
    text += fmt::format("{} numbers", c.inputs.size());
  } else {
    for (std::size_t i = 0; i < c.inputs.size(); ++i)
      text += fmt::format("{}{:#010x}", i == 0 ? "" : ", ", c.inputs[i]);
  }
  text += fmt::format("; times 2^{}, {} random bits, seed {}", c.shift, c.random_bits, c.seed);
  if (!c.fault.empty()) text += fmt::format(", with fault {} switched on", c.fault);
  return text;
}

}  // namespace shardcheck
