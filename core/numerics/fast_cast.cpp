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

/// To nearest even: an addition rounds the number onto the grid, because its other operand is the power of
/// two whose last place is a step of the format at this exponent. What it adds is a whole number of steps.
struct NearestSteps {
  static SHARDCHECK_INLINE std::int32_t code(const FastCast::Constants& k, std::int32_t magnitude) {
    const std::int32_t exponent = magnitude & kInfinityBits;
    const std::int32_t grid = exponent > k.first_normal ? exponent : k.first_normal;
    const std::int32_t power = wrapped_sum(grid, k.shift << 23);
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(power);
    return wrapped_sum(std::bit_cast<std::int32_t>(sum), (grid >> k.shift) - k.first_code) - power;
  }
};

/// To nearest even where the exponents are those of fp32 (bf16): half of the last kept place is added, but
/// for the lowest bit, which odd codes add.
struct NearestShift {
  static SHARDCHECK_INLINE std::int32_t code(const FastCast::Constants& k, std::int32_t magnitude) {
    const std::int32_t below_half = (1 << (k.shift - 1)) - 1;
    return wrapped_sum(magnitude, below_half + ((magnitude >> k.shift) & 1)) >> k.shift;
  }
};

/// Toward zero: bits are dropped, and of a subnormal, what is less than a step.
struct TowardZero {
  static SHARDCHECK_INLINE std::int32_t code(const FastCast::Constants& k, std::int32_t magnitude) {
    const bool is_subnormal = magnitude < k.first_normal;
    const float small = is_subnormal ? std::bit_cast<float>(magnitude) : 0.0f;
    const auto steps = static_cast<std::int32_t>(small * k.steps);
    return is_subnormal ? steps : (magnitude >> k.shift) - k.first_code + k.hidden_bit;
  }
};

template <class Grid, bool infinity_overflows, bool has_negative_zero>
struct Narrow {
  FastCast::Constants k;

  SHARDCHECK_INLINE std::int32_t operator()(float number) const {
    const auto bits = std::bit_cast<std::int32_t>(number);
    const std::int32_t magnitude = bits & 0x7fffffff;
    std::int32_t code = Grid::code(k, magnitude);
    code = magnitude > k.last ? k.overflow : code;
    if constexpr (!infinity_overflows) code = magnitude >= kInfinityBits ? k.infinity : code;
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

template <class Grid, class Code>
void run_on(const FastCast::Constants& k, std::span<const float> numbers, std::span<Code> codes) {
  if (!k.has_negative_zero) return run(Narrow<Grid, false, false>{k}, numbers, codes);
  if (k.infinity != k.overflow) return run(Narrow<Grid, false, true>{k}, numbers, codes);
  run(Narrow<Grid, true, true>{k}, numbers, codes);
}

/// The greatest magnitude that is rounded to a code. The step above max_code is a whole one in every format.
std::int32_t last_of(const Format& format, Rounding rounding, int shift) {
  const auto largest = std::bit_cast<std::int32_t>(decode(format, format.max_code));
  if (rounding == Rounding::toward_zero) return largest + ((1 << shift) - 1);
  const std::int32_t midpoint = largest + (1 << (shift - 1));
  return format.max_code % 2 == 0 ? midpoint : midpoint - 1;
}

}  // namespace

FastCast::FastCast(const Format& format, const CastPolicy& policy) : rounding_(policy.rounding) {
  SC_ASSERT(format.encoding != Encoding::power_of_two && format.id != FormatId::f32,
            "E8M0 has a fast cast of its own, and fp32 needs none");
  const int shift = 23 - format.mantissa_bits;
  const int smallest = format.smallest_exponent();
  const auto edge = [&](std::uint32_t bits) { return as_signed(encode(format, policy, bits)); };
  constexpr std::uint32_t kNan = 0x7fc00000u, kLargest = 0x7f7fffffu, kSign = 0x80000000u;
  // fp32's own subnormals are cut like its normal numbers.
  const std::int32_t first_normal = smallest == -126 ? 0 : (smallest + 127) << 23;
  constants_ = {.shift = shift,
                .first_normal = first_normal,
                .first_code = first_normal >> shift,
                .hidden_bit = first_normal == 0 ? 0 : 1 << format.mantissa_bits,
                .steps = first_normal == 0 ? 0.0f : std::ldexp(1.0f, format.mantissa_bits - smallest),
                .last = last_of(format, policy.rounding, shift),
                .overflow = edge(kLargest),
                .infinity = edge(0x7f800000u),
                .nan = edge(kNan),
                .sign_shift = 32 - format.width(),
                .sign = as_signed(format.sign_mask()),
                .sign_of_nan = edge(kNan) ^ edge(kNan | kSign),
                .has_negative_zero = format.encoding != Encoding::fnuz};
}

void FastCast::operator()(std::span<const float> numbers, std::span<std::uint8_t> codes) const {
  SC_ASSERT(constants_.sign_shift >= 24, "the codes of the format need 16 bits");
  if (rounding_ == Rounding::toward_zero) return run_on<TowardZero>(constants_, numbers, codes);
  run_on<NearestSteps>(constants_, numbers, codes);
}

void FastCast::operator()(std::span<const float> numbers, std::span<std::uint16_t> codes) const {
  SC_ASSERT(constants_.sign_shift == 16, "the codes of the format have 8 bits");
  if (rounding_ == Rounding::toward_zero) return run_on<TowardZero>(constants_, numbers, codes);
  if (constants_.first_normal == 0) return run_on<NearestShift>(constants_, numbers, codes);
  run_on<NearestSteps>(constants_, numbers, codes);
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
