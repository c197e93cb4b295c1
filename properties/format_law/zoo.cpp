#include "properties/format_law/zoo.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/numerics/decode.h"
#include "core/numerics/encode.h"

namespace shardcheck {
namespace {

std::uint32_t right(const NamedCast& cast, std::uint32_t bits) {
  return number_rules().encoded(cast, bits);
}
float magnitude_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits & 0x7fffffffu);
}
/// By another policy of the format.
std::uint32_t by_policy(const NamedCast& cast, CastPolicy policy, std::uint32_t bits) {
  return encode(format_of(cast.format), policy, bits);
}
CastPolicy truncating(const NamedCast& cast) {
  CastPolicy policy = std::get<CastPolicy>(cast.rule);
  policy.rounding = Rounding::toward_zero;
  return policy;
}
/// Normal, and not above the largest number: thresholds at both ends stay as they are.
bool is_inside(const NamedCast& cast, std::uint32_t bits) {
  const Format& format = format_of(cast.format);
  const float x = magnitude_of(bits);
  return x >= std::ldexp(1.0f, format.smallest_exponent()) && x < decode(format, format.max_code);
}
/// fp32 bits beside which the number lies halfway between two codes: bits of the part that is dropped.
struct Dropped {
  std::uint32_t part, half;
  bool is_tie() const { return part == half; }
};
Dropped dropped(const NamedCast& cast, std::uint32_t bits) {
  const int count = 23 - format_of(cast.format).mantissa_bits;
  return {bits & ((1u << count) - 1), 1u << (count - 1)};
}
/// One of the two codes around a number that lies inside.
std::uint32_t truncated(const NamedCast& cast, std::uint32_t bits) {
  return by_policy(cast, truncating(cast), bits);
}

// F1.
float decoded_as_fnuz(const Format& format, std::uint32_t code) {
  return decode(format.id == FormatId::e4m3 ? format_of(FormatId::e4m3fnuz) : format, code);
}
// F2.
std::uint32_t without_minus_zero(const NamedCast& cast, std::uint32_t bits) {
  return bits == 0x80000000u ? 0 : right(cast, bits);
}
// F4: the comparison with the midpoint is reversed within two fp32 ulps of it.
std::uint32_t reversed_at_midpoints(const NamedCast& cast, std::uint32_t bits) {
  if (!is_inside(cast, bits)) return right(cast, bits);
  const auto [part, half] = dropped(cast, bits);
  const bool is_just_below = part < half && half - part <= 2, is_just_above = part > half && part - half <= 2;
  if (!is_just_below && !is_just_above) return right(cast, bits);
  return truncated(cast, bits) + (is_just_below ? 1 : 0);
}
// F5: ties go up, so away from zero for positive numbers only.
std::uint32_t ties_up(const NamedCast& cast, std::uint32_t bits) {
  if (!is_inside(cast, bits) || !dropped(cast, bits).is_tie()) return right(cast, bits);
  return truncated(cast, bits) + (bits >> 31 == 0 ? 1 : 0);
}
// F6.
std::uint32_t overflow_before_rounding(const NamedCast& cast, std::uint32_t bits) {
  const Format& format = format_of(cast.format);
  const bool is_above = magnitude_of(bits) > decode(format, format.max_code);
  return is_above ? by_policy(cast, std::get<CastPolicy>(cast.rule), 0x7f7fffffu | (bits & 0x80000000u))
                  : right(cast, bits);
}
std::uint32_t boundary_is_largest(const NamedCast& cast, std::uint32_t bits) {
  constexpr std::uint32_t kTie = 0x47700000;  // 61440
  const bool is_tie = (bits & 0x7fffffffu) == kTie;
  return is_tie ? right(cast, bits - 1) : right(cast, bits);
}
// F9.
std::uint32_t truncates(const NamedCast& cast, std::uint32_t bits) {
  return is_inside(cast, bits) ? truncated(cast, bits) : right(cast, bits);
}
// F10.
std::uint32_t loses_sign_of_zero(const NamedCast& cast, std::uint32_t bits) {
  const std::uint32_t code = right(cast, bits);
  const bool is_zero = (code & format_of(cast.format).magnitude_mask()) == 0;
  return is_zero && (bits & 0x7fffffffu) != 0 ? 0 : code;
}
// F11: in one binade ties go away from zero.
std::uint32_t ties_away_in_a_binade(const NamedCast& cast, std::uint32_t bits) {
  const float x = magnitude_of(bits);
  if (!(x >= 1 && x < 2) || !dropped(cast, bits).is_tie()) return right(cast, bits);
  return truncated(cast, bits) + 1;
}
// F13.
void neighbours_swapped(std::span<std::uint32_t> codes) {
  for (std::size_t i = 0; i + 1 < codes.size(); i += 2) std::swap(codes[i], codes[i + 1]);
}
std::vector<std::uint8_t> packed_high_first(std::span<const std::uint8_t> codes) {
  std::vector<std::uint8_t> bytes((codes.size() + 1) / 2);
  for (std::size_t i = 0; i < codes.size(); ++i)
    bytes[i / 2] = static_cast<std::uint8_t>(bytes[i / 2] | codes[i] << ((i + 1) % 2 * 4));
  return bytes;
}
// F14.
std::uint32_t drawn_by_low_bits(const NamedCast& cast, std::uint32_t bits, RandomBits random) {
  random.value >>= random.count / 2;  // aligned to the wrong place: hardly ever a carry
  return number_rules().drawn(cast, bits, random);
}
std::uint32_t drawn_by_a_constant(const NamedCast& cast, std::uint32_t bits, RandomBits random) {
  random.value = 0;
  return number_rules().drawn(cast, bits, random);
}
// F15.
std::uint32_t drawn_as_zero(const NamedCast&, std::uint32_t, RandomBits) {
  return 0;
}
std::uint32_t drawn_past_codes(const NamedCast& cast, std::uint32_t bits, RandomBits random) {
  const std::uint32_t code = number_rules().drawn(cast, bits, random);
  const Format& format = format_of(cast.format);
  const bool is_own = std::bit_cast<std::uint32_t>(decode(format, code)) == bits;
  const bool can_go_up = (code & format.magnitude_mask()) < format.max_code;
  return is_own && can_go_up && random.value == (1u << random.count) - 1 ? code + 1 : code;
}
// F16.
std::uint32_t power_down(const NamedCast& cast, std::uint32_t bits) {
  if (bits == 0x7fc00000u || bits == 0xffc00000u) return right(cast, bits);
  return encode_e8m0(bits, PowerOfTwoRounding::down, FiniteOverflow::saturate);
}
std::uint32_t subnormal_power_is_normal(const NamedCast& cast, std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  return magnitude != 0 && magnitude < 0x400000u ? 1 : right(cast, bits);
}
// F17.
float flushed(const Format& format, std::uint32_t code) {
  const float number = decode(format, code);
  return std::abs(number) < 0x1p-126f ? 0.0f : number;
}

constexpr NumberRules kOurs{
    .decoded = decode,
    .encoded = right,
    .stored = [](std::span<std::uint32_t> codes) { number_rules().stored(codes); },
    .packed = [](std::span<const std::uint8_t> codes) { return number_rules().packed(codes); },
    .drawn = [](const NamedCast& cast, std::uint32_t bits,
                RandomBits random) { return number_rules().drawn(cast, bits, random); }};

constexpr NumberRules decoding(decltype(NumberRules::decoded) decoded) {
  NumberRules rules = kOurs;
  rules.decoded = decoded;
  return rules;
}
constexpr NumberRules encoding(decltype(NumberRules::encoded) encoded) {
  NumberRules rules = kOurs;
  rules.encoded = encoded;
  return rules;
}
constexpr NumberRules storing(decltype(NumberRules::stored) stored) {
  NumberRules rules = kOurs;
  rules.stored = stored;
  return rules;
}
constexpr NumberRules packing(decltype(NumberRules::packed) packed) {
  NumberRules rules = kOurs;
  rules.packed = packed;
  return rules;
}
constexpr NumberRules drawing(decltype(NumberRules::drawn) drawn) {
  NumberRules rules = kOurs;
  rules.drawn = drawn;
  return rules;
}

using enum FormatId;
constexpr std::string_view kSat = "nv_saturating", kNoSat = "nv_nosat";

constexpr FormatFault kZoo[] = {
    {"Q04",
     "overflow is tested before rounding",
     "F6",
     e4m3,
     kNoSat,
     {0x43E08000},
     encoding(overflow_before_rounding)},
    {"Q05",
     "the tie at the end of E5M2 becomes the largest number",
     "F6",
     e5m2,
     kNoSat,
     {0x47700000},
     encoding(boundary_is_largest)},
    {"Q07", "E4M3 is read as E4M3FNUZ", "F1", e4m3, kSat, {}, decoding(decoded_as_fnuz)},
    {"Q08",
     "the two codes of a pair lie in each other's places",
     "F13",
     e4m3,
     kSat,
     {},
     storing(neighbours_swapped)},
    {"Q08b",
     "FP4 packs the first of two codes into the high half",
     "F13",
     e2m1,
     kSat,
     {0x3F800000, 0x40000000},
     packing(packed_high_first)},
    {"Q15",
     "the E8M0 scale is rounded down where up was meant",
     "F16",
     e8m0,
     "rp_sat",
     {0x3F804925},
     encoding(power_down)},
    {"Q46",
     "random bits are aligned to the wrong place",
     "F14",
     e5m2,
     kSat,
     {0x38900000},
     drawing(drawn_by_low_bits)},
    {"Q46b", "the random stream is constant", "F14", e5m2, kSat, {0x38900000}, drawing(drawn_by_a_constant)},
    {"Q46c",
     "the instruction for random rounding is missing and gives zeros",
     "F15",
     e2m1,
     kSat,
     {},
     drawing(drawn_as_zero)},
    {"M1", "minus zero becomes plus zero", "F2", e4m3, kSat, {}, encoding(without_minus_zero)},
    {"M2",
     "the comparison with a midpoint is reversed beside it",
     "F4",
     e4m3,
     kSat,
     {0x3F87FFFF, 0x3F880001},
     encoding(reversed_at_midpoints)},
    {"M3", "ties go up, whatever the sign", "F5", e4m3, kSat, {0x3F880000}, encoding(ties_up)},
    {"M4", "normal numbers are cut off and not rounded", "F9", e4m3, kSat, {0x3F8F0000}, encoding(truncates)},
    {"M5",
     "a negative number that rounds to zero loses its sign",
     "F10",
     e4m3,
     kSat,
     {0xBA000000},
     encoding(loses_sign_of_zero)},
    {"M6",
     "one binade has its own rule for ties",
     "F11",
     e4m3,
     kSat,
     {0x3F880000},
     encoding(ties_away_in_a_binade)},
    {"M7", "the largest draw moves a number of the format", "F15", e4m3, kSat, {}, drawing(drawn_past_codes)},
    {"M8",
     "fp32 subnormals get the E8M0 code of the smallest normal number",
     "F16",
     e8m0,
     "rp_sat",
     {0x00200000},
     encoding(subnormal_power_is_normal)},
    {"M9", "the E8M0 code 0 is flushed to zero", "F17", e8m0, "rp_sat", {}, decoding(flushed)},
};

}  // namespace

std::span<const FormatFault> format_zoo() {
  return kZoo;
}

const FormatFault* find_format_fault(std::string_view id) {
  const auto found = std::ranges::find(kZoo, id, &FormatFault::id);
  return found == std::end(kZoo) ? nullptr : &*found;
}

FormatCase case_of(const FormatFault& fault) {
  FormatCase c{.format = fault.format, .policy = std::string(fault.policy), .fault = std::string(fault.id)};
  for (const std::uint32_t bits : fault.inputs) {
    if (bits != 0) c.inputs.push_back(bits);
  }
  return c;
}

}  // namespace shardcheck
