#include "properties/cast_law/zoo.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "core/numerics/cast_chain.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"

namespace shardcheck {
namespace {

constexpr std::uint32_t kInfinity = 0x7f800000u;

std::uint32_t through(FormatId middle, const Format& format, const CastPolicy& policy, std::uint32_t bits) {
  const CastStep steps[] = {{middle, kIeee}, {format.id, policy}};
  return encode_through(steps, bits);
}
std::uint32_t through_bf16(const Format& format, const CastPolicy& policy, std::uint32_t bits) {
  return through(FormatId::bf16, format, policy, bits);
}
std::uint32_t through_f16(const Format& format, const CastPolicy& policy, std::uint32_t bits) {
  return through(FormatId::f16, format, policy, bits);
}

/// A number halfway between two codes, inside the range: the code that is nearer to zero, or nothing.
bool is_tie(const Format& format, const CastPolicy& policy, std::uint32_t bits) {
  CastPolicy truncating = policy;
  truncating.rounding = Rounding::toward_zero;
  const std::uint32_t below = encode(format, truncating, bits) & format.magnitude_mask();
  if ((bits & 0x7fffffffu) >= kInfinity || below >= format.max_code) return false;
  const auto x = static_cast<double>(std::bit_cast<float>(bits & 0x7fffffffu));
  return x - static_cast<double>(decode(format, below)) == static_cast<double>(decode(format, below + 1)) - x;
}
std::uint32_t ties_away(const Format& format, const CastPolicy& policy, std::uint32_t bits) {
  return encode(format, policy, is_tie(format, policy, bits) ? bits + 1 : bits);
}
std::uint32_t ties_toward_zero(const Format& format, const CastPolicy& policy, std::uint32_t bits) {
  return encode(format, policy, is_tie(format, policy, bits) ? bits - 1 : bits);
}
std::uint32_t toward_zero(const Format& format, const CastPolicy& policy, std::uint32_t bits) {
  CastPolicy truncating = policy;
  truncating.rounding = Rounding::toward_zero;
  return encode(format, truncating, bits);
}

std::uint32_t other_overflow(const Format& format, const CastPolicy& policy, std::uint32_t bits) {
  CastPolicy other = policy;
  other.finite_overflow = policy.finite_overflow == FiniteOverflow::saturate ? FiniteOverflow::to_special
                                                                             : FiniteOverflow::saturate;
  return encode(format, (bits & 0x7fffffffu) < kInfinity ? other : policy, bits);
}
std::uint32_t infinity_is_special(const Format& format, const CastPolicy& policy, std::uint32_t bits) {
  CastPolicy other = policy;
  other.infinity = InfinityRule::to_special;
  return encode(format, other, bits);
}
std::uint32_t subnormals_flushed(const Format& format, const CastPolicy& policy, std::uint32_t bits) {
  const std::uint32_t code = encode(format, policy, bits);
  const bool is_subnormal = (code & format.magnitude_mask()) < 1u << format.mantissa_bits;
  return is_subnormal ? code & format.sign_mask() : code;
}
std::uint32_t nan_is_largest(const Format& format, const CastPolicy& policy, std::uint32_t bits) {
  return (bits & 0x7fffffffu) > kInfinity ? format.max_code : encode(format, policy, bits);
}

constexpr std::string_view kSat = "nv_saturating";

constexpr CastFault kZoo[] = {
    {"Q01", "a number is rounded to bf16 first", "F12", kSat, {0x3F880001}, through_bf16},
    {"Q01b", "a number is rounded to fp16 first", "F12", kSat, {0x3F880001}, through_f16},
    {"Q02", "ties go away from zero", "F3", kSat, {0x3F880000, 0x3F980000}, ties_away},
    {"Q02b", "ties go toward zero", "F3", kSat, {0x3F880000, 0x3F980000}, ties_toward_zero},
    {"Q03", "one path saturates and the other gives NaN", "F7", kSat, {0x43E88000}, other_overflow},
    {"Q06", "subnormal codes are flushed to zero", "F3", kSat, {0x3B400000}, subnormals_flushed},
    {"M1", "bits are cut off instead of rounded", "F3", kSat, {0x3F8F0000}, toward_zero},
    {"M2",
     "infinity becomes NaN although the policy saturates it",
     "F7",
     kSat,
     {0x7F800000},
     infinity_is_special},
    {"M3", "a NaN becomes the largest number", "F8", kSat, {0x7FC00000}, nan_is_largest},
};

}  // namespace

std::span<const CastFault> cast_zoo() {
  return kZoo;
}

const CastFault* find_cast_fault(std::string_view id) {
  const auto found = std::ranges::find(kZoo, id, &CastFault::id);
  return found == std::end(kZoo) ? nullptr : &*found;
}

CastCase case_of(const CastFault& fault) {
  CastCase c{.policy = std::string(fault.policy), .fault = std::string(fault.id)};
  for (const std::uint32_t bits : fault.inputs) {
    if (bits != 0) c.inputs.push_back(bits);
  }
  return c;
}

}  // namespace shardcheck
