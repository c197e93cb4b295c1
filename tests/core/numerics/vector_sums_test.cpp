// The fast sums equal the readable ones on every bit: all pairs of FP8 codes, random products of every family
// of operands, both accumulators, partial steps and rows; and what is not finite goes the readable way.
#include "core/numerics/vector_sums.h"

#include <gtest/gtest.h>

#include <random>

#include "core/numerics/aligned_gemm.h"
#include "core/numerics/gemm_elements.h"

namespace shardcheck {
namespace {

using Bytes = std::vector<std::byte>;

struct Sizes {
  std::int64_t m, n, k;
};

struct Operands {
  FormatId a, b;
  FastAccumulation fast = FastAccumulation::off;
};

GemmProblem problem_of(Sizes sizes, Operands types, const Bytes& a, const Bytes& b) {
  const ScaleMode mode = format_of(types.a).width() == 8 ? ScaleMode::tensor : ScaleMode::none;
  static constexpr float one[] = {1.0f};
  return {.m = sizes.m,
          .n = sizes.n,
          .k = sizes.k,
          .a = {types.a, a, sizes.k, 1},
          .b = {types.b, b, sizes.k, 1},
          .scale_mode_a = mode,
          .scale_mode_b = mode,
          .scales_a = one,
          .scales_b = one,
          .alpha = 1,
          .beta = GemmBeta::zero,
          .output = DType::f32,
          .fast_accumulation = types.fast,
          .split_k = 1};
}

/// Chips that have a rule for the operands.
std::vector<const ArithmeticProfile*> chips_for(const GemmProblem& problem) {
  std::vector<const ArithmeticProfile*> chips;
  for (const ArithmeticProfile* profile : kProfiles) {
    if (profile->summation == Summation::aligned && !unsupported_reason(*profile, problem))
      chips.push_back(profile);
  }
  return chips;
}

const Accumulator& rule_of(const Operands& types) {
  if (format_of(types.a).width() > 8) return kHopper.sixteen_bit;
  return types.fast == FastAccumulation::on ? kHopper.fp8_fast : kHopper.fp8_promoted;
}

void expect_equal(const GemmProblem& problem) {
  for (const ArithmeticProfile* chip : chips_for(problem)) {
    Bytes fast(static_cast<std::size_t>(problem.m * problem.n * 4)), readable(fast.size());
    aligned_gemm(*chip, problem, {}, fast);
    readable_aligned_gemm(*chip, problem, {}, readable);
    for (std::int64_t i = 0; i < problem.m * problem.n; ++i)
      ASSERT_EQ(gemm_elements::read_f32(fast, i), gemm_elements::read_f32(readable, i))
          << chip->name << ": output " << i << " of " << problem.m << " x " << problem.n << " x "
          << problem.k;
  }
}

/// Codes of a format, finite and moderate, over `spread` exponents: 0 keeps them alike.
Bytes random_codes(FormatId id, std::int64_t count, int spread, std::mt19937_64& random) {
  const Format& format = format_of(id);
  const auto one = static_cast<std::uint32_t>(format.bias) << format.mantissa_bits;
  const auto half = static_cast<std::uint32_t>(spread / 2) << format.mantissa_bits;
  const std::uint32_t low = one > half ? one - half : 0;
  const std::uint32_t high = std::min(format.max_code, one + half + (1u << format.mantissa_bits));
  Bytes codes;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t code = low + static_cast<std::uint32_t>(random() % (high - low + 1));
    if (random() % 8 == 0) code = 0;
    const bool has_moderate_subnormals = id != FormatId::bf16;
    if (has_moderate_subnormals && random() % 16 == 0)
      code = static_cast<std::uint32_t>(random() % (1u << format.mantissa_bits));
    if (random() % 2 == 0) code |= format.sign_mask();
    for (int byte = 0; byte < format.width() / 8; ++byte)
      codes.push_back(static_cast<std::byte>(code >> (8 * byte)));
  }
  return codes;
}

constexpr Operands kAll[] = {{FormatId::bf16, FormatId::bf16},
                             {FormatId::f16, FormatId::f16},
                             {FormatId::e4m3, FormatId::e4m3},
                             {FormatId::e4m3, FormatId::e5m2},
                             {FormatId::e5m2, FormatId::e4m3},
                             {FormatId::e4m3, FormatId::e4m3, FastAccumulation::on},
                             {FormatId::e4m3, FormatId::e5m2, FastAccumulation::on}};

TEST(VectorSums, EqualTheReadableSums) {
  std::mt19937_64 random(1);
  for (const Operands& types : kAll) {
    for (int i = 0; i < 120; ++i) {
      const Sizes sizes{1 + static_cast<std::int64_t>(random() % 40),
                        1 + static_cast<std::int64_t>(random() % 5),
                        1 + static_cast<std::int64_t>(random() % 300)};
      const int spread = static_cast<int>(random() % 40);
      const Bytes a = random_codes(types.a, sizes.m * sizes.k, spread, random);
      const Bytes b = random_codes(types.b, sizes.n * sizes.k, spread, random);
      ASSERT_TRUE(VectorSums::can_hold(rule_of(types), problem_of(sizes, types, a, b)));
      expect_equal(problem_of(sizes, types, a, b));
    }
  }
}

/// The bound of the header: every product as large as the format has.
TEST(VectorSums, TheLargestStepFits) {
  for (const Operands& types : kAll) {
    const auto largest = [](FormatId id, std::int64_t count) {
      const Format& format = format_of(id);
      // All ones in the significand; an exponent that keeps sums finite.
      const std::uint32_t exponent = format.width() > 8 ? static_cast<std::uint32_t>(format.bias) : 7;
      const std::uint32_t code = exponent << format.mantissa_bits | ((1u << format.mantissa_bits) - 1);
      Bytes codes;
      for (std::int64_t i = 0; i < count; ++i) {
        for (int byte = 0; byte < format.width() / 8; ++byte)
          codes.push_back(static_cast<std::byte>(code >> (8 * byte)));
      }
      return codes;
    };
    const Bytes a = largest(types.a, 16 * 256), b = largest(types.b, 256);
    expect_equal(problem_of({16, 1, 256}, types, a, b));
  }
}

/// Every code of A with every code of B, after a first product that the accumulator carries.
TEST(VectorSums, EqualOnAllPairsOfFp8Codes) {
  for (const Operands& types : {kAll[2], kAll[3], kAll[4]}) {
    Bytes a, b;
    for (int code = 0; code < 256; ++code) {
      const auto each = static_cast<std::uint32_t>(code);
      const auto one = [](FormatId id) {
        return static_cast<std::byte>(format_of(id).bias << format_of(id).mantissa_bits);
      };
      const auto finite = [&](FormatId id) {
        const Format& f = format_of(id);
        return static_cast<std::byte>(f.is_nan(each) || f.is_infinity(each) ? 0u : each);
      };
      a.insert(a.end(), {one(types.a), finite(types.a)});
      b.insert(b.end(), {one(types.b), finite(types.b)});
    }
    expect_equal(problem_of({256, 256, 2}, types, a, b));
  }
}

TEST(VectorSums, DoNotHoldWhatIsNotModerate) {
  const auto code = [](std::uint32_t bits) {
    return Bytes{static_cast<std::byte>(bits), static_cast<std::byte>(bits >> 8)};
  };
  const Bytes one = code(0x3F80);
  const Operands types{FormatId::bf16, FormatId::bf16};
  const auto holds = [&](const Bytes& a, const Bytes& b) {
    return VectorSums::can_hold(rule_of(types), problem_of({1, 1, 1}, types, a, b));
  };
  EXPECT_TRUE(holds(one, one));
  EXPECT_TRUE(holds(code(0x8000), code(0x58FF))) << "zero, and just below 2^51";
  for (const std::uint32_t bits : {0x7FC0u, 0xFF80u, 0x5900u, 0x2600u, 0x0001u}) {
    EXPECT_FALSE(holds(code(bits), one)) << bits;
    EXPECT_FALSE(holds(one, code(bits))) << bits;
  }
}

TEST(VectorSums, DoNotHoldAWiderAccumulator) {
  const Bytes one{std::byte{0x80}, std::byte{0x3F}};
  const GemmProblem problem = problem_of({1, 1, 1}, {FormatId::bf16, FormatId::bf16}, one, one);
  EXPECT_TRUE(VectorSums::can_hold(kHopper.sixteen_bit, problem));
  for (const Accumulator& wider : {Accumulator{32, 25, 23, 0}, Accumulator{16, 26, 23, 0},
                                   Accumulator{16, 25, 24, 0}, Accumulator{16, 40, 23, 0}})
    EXPECT_FALSE(VectorSums::can_hold(wider, problem));
}

}  // namespace
}  // namespace shardcheck
