// The loops exist three times, for AVX-512, for AVX2 and for what the build asks for; the machine that runs
// decides. CMakeLists.txt compiles this file with -O3 and -fno-trapping-math: neither changes a bit, and
// without the second GCC makes no selection of a comparison.
#include "core/numerics/fast_cast.h"

#include <bit>
#include <cmath>

#include "core/assert.h"
#include "core/numerics/decode.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SHARDCHECK_LOOP_FOR_WIDE_MACHINES 1
#endif
#if defined(__GNUC__)
#define SHARDCHECK_INLINE __attribute__((always_inline)) inline
#else
#define SHARDCHECK_INLINE inline
#endif

namespace shardcheck {
namespace {

constexpr std::int32_t kInfinityBits = 0x7f800000;

std::int32_t as_signed(std::uint32_t code) {
  return static_cast<std::int32_t>(code);
}

/// NaNs, whose sum nobody looks at, may leave the range.
SHARDCHECK_INLINE std::int32_t wrapped_sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

template <Rounding rounding, bool has_negative_zero>
struct Narrow {
  FastCast::Constants k;

  SHARDCHECK_INLINE std::int32_t operator()(float number) const {
    const auto bits = std::bit_cast<std::int32_t>(number);
    const std::int32_t magnitude = bits & 0x7fffffff;
    const std::int32_t normal =
        wrapped_sum(magnitude, k.offset + ((magnitude >> k.shift) & k.odd)) >> k.shift;
    // A subnormal is a whole number of steps. To nearest, an addition whose result has just this step rounds;
    // toward zero, a conversion does.
    const auto positive = std::bit_cast<float>(magnitude);
    std::int32_t subnormal;
    if constexpr (rounding == Rounding::nearest_even) {
      subnormal = std::bit_cast<std::int32_t>(positive + std::bit_cast<float>(k.magic)) - k.magic;
    } else {
      subnormal = static_cast<std::int32_t>((magnitude < k.first_normal ? positive : 0.0f) * k.steps);
    }
    std::int32_t code = magnitude < k.first_normal ? subnormal : normal;
    code = magnitude > k.last ? k.overflow : code;
    code = magnitude >= kInfinityBits ? k.infinity : code;
    std::int32_t sign = (bits >> k.sign_shift) & k.sign;
    code = magnitude > kInfinityBits ? k.nan : code;
    sign &= magnitude > kInfinityBits ? k.sign_of_nan : -1;
    // Without -0 neither zero nor the one NaN, which has its code, takes a sign.
    if constexpr (!has_negative_zero) sign = (code & ~k.sign) == 0 ? 0 : sign;
    return code ^ sign;
  }
};

struct PowerOfTwo {
  FastPowerOfTwoCast::Constants k;

  SHARDCHECK_INLINE std::int32_t operator()(float number) const {
    const std::int32_t magnitude = std::bit_cast<std::int32_t>(number) & 0x7fffffff;
    const std::int32_t add = k.add + ((magnitude >> 23) & k.add_to_odd);
    const std::int32_t sum = wrapped_sum(magnitude, magnitude < 0x800000 ? k.add_to_subnormal : add);
    const std::int32_t code = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) >> 23);
    return magnitude > kInfinityBits ? 0xff : code > 0xfe ? k.overflow : code;
  }
};

template <class Each, class Code>
SHARDCHECK_INLINE void loop(const Each& each, const float* __restrict from, Code* __restrict to,
                            std::size_t count) {
  const Each kept = each;
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Code>(kept(from[i]));
}

#ifdef SHARDCHECK_LOOP_FOR_WIDE_MACHINES
template <class Each, class Code>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512"))) void loop_512(
    const Each& each, const float* from, Code* to, std::size_t count) {
  loop(each, from, to, count);
}

template <class Each, class Code>
__attribute__((target("avx2"))) void loop_256(const Each& each, const float* from, Code* to,
                                              std::size_t count) {
  loop(each, from, to, count);
}
#endif

template <class Each, class Code>
void run(const Each& each, std::span<const float> numbers, std::span<Code> codes) {
  SC_ASSERT(numbers.size() == codes.size(), "a cast has as many codes as numbers");
#ifdef SHARDCHECK_LOOP_FOR_WIDE_MACHINES
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return loop_512(each, numbers.data(), codes.data(), numbers.size());
  }
  if (__builtin_cpu_supports("avx2")) {
    return loop_256(each, numbers.data(), codes.data(), numbers.size());
  }
#endif
  loop(each, numbers.data(), codes.data(), numbers.size());
}

template <class Code>
void run(const FastCast::Constants& k, Rounding rounding, std::span<const float> numbers,
         std::span<Code> codes) {
  if (rounding == Rounding::toward_zero) return run(Narrow<Rounding::toward_zero, true>{k}, numbers, codes);
  run(Narrow<Rounding::nearest_even, true>{k}, numbers, codes);
}

/// The greatest magnitude that is rounded to a code. The step above max_code is a whole one in every format.
std::int32_t last_of(const Format& format, Rounding rounding, int shift) {
  const auto largest = std::bit_cast<std::int32_t>(decode(format, format.max_code));
  if (rounding == Rounding::toward_zero) return largest + ((1 << shift) - 1);
  const std::int32_t midpoint = largest + (1 << (shift - 1));
  return format.max_code % 2 == 0 ? midpoint : midpoint - 1;
}

}  // namespace

FastCast::FastCast(const Format& format, const CastPolicy& policy)
    : rounding_(policy.rounding), has_negative_zero_(format.encoding != Encoding::fnuz) {
  SC_ASSERT(format.encoding != Encoding::power_of_two && format.id != FormatId::f32,
            "E8M0 has a fast cast of its own, and fp32 needs none");
  const int shift = 23 - format.mantissa_bits;
  const int smallest = format.smallest_exponent();
  const bool nearest = policy.rounding == Rounding::nearest_even;
  // bf16: fp32's own subnormals round like its normal numbers.
  const bool has_exponents_of_fp32 = smallest == -126;
  // The exponent field counts from smallest - 1, so that the hidden bit lands on the field's lowest bit.
  const std::int32_t rebias = (smallest - 1 + 127) << 23;
  const auto edge = [&](std::uint32_t bits) { return as_signed(encode(format, policy, bits)); };
  constexpr std::uint32_t kNan = 0x7fc00000u, kLargest = 0x7f7fffffu, kSign = 0x80000000u;
  constants_ = {.shift = shift,
                .offset = (nearest ? (1 << (shift - 1)) - 1 : 0) - rebias,
                .odd = nearest ? 1 : 0,
                .magic = (smallest + shift + 127) << 23,
                .steps = has_exponents_of_fp32 ? 0.0f : std::ldexp(1.0f, format.mantissa_bits - smallest),
                .first_normal = has_exponents_of_fp32 ? 0 : (smallest + 127) << 23,
                .last = last_of(format, policy.rounding, shift),
                .overflow = edge(kLargest),
                .infinity = edge(0x7f800000u),
                .nan = edge(kNan),
                .sign_shift = 32 - format.width(),
                .sign = as_signed(format.sign_mask()),
                .sign_of_nan = edge(kNan) ^ edge(kNan | kSign)};
}

void FastCast::operator()(std::span<const float> numbers, std::span<std::uint8_t> codes) const {
  SC_ASSERT(constants_.sign_shift >= 24, "the codes of the format need 16 bits");
  if (has_negative_zero_) return run(constants_, rounding_, numbers, codes);
  if (rounding_ == Rounding::toward_zero) {
    return run(Narrow<Rounding::toward_zero, false>{constants_}, numbers, codes);
  }
  run(Narrow<Rounding::nearest_even, false>{constants_}, numbers, codes);
}

void FastCast::operator()(std::span<const float> numbers, std::span<std::uint16_t> codes) const {
  SC_ASSERT(constants_.sign_shift == 16, "the codes of the format have 8 bits");
  run(constants_, rounding_, numbers, codes);
}

FastPowerOfTwoCast::FastPowerOfTwoCast(PowerOfTwoRounding rounding, FiniteOverflow overflow) {
  switch (rounding) {
    case PowerOfTwoRounding::up: constants_ = {0x7fffff, 0, 0x3fffff, 0}; break;
    case PowerOfTwoRounding::down: constants_ = {0, 0, 0, 0}; break;
    case PowerOfTwoRounding::nearest_even: constants_ = {0x3fffff, 1, 0x1fffff, 0}; break;
    case PowerOfTwoRounding::nearest_up: constants_ = {0x400000, 0, 0x200000, 0}; break;
  }
  constants_.overflow = overflow == FiniteOverflow::saturate ? 0xfe : 0xff;
}

void FastPowerOfTwoCast::operator()(std::span<const float> numbers, std::span<std::uint8_t> codes) const {
  run(PowerOfTwo{constants_}, numbers, codes);
}

}  // namespace shardcheck
