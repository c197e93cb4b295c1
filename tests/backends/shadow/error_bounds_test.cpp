// The bounds, attacked: data made to lose bits in the tensor core's alignment, and sums in random orders.
// They must hold, and must not be empty words.
#include "backends/shadow/error_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/numerics/gemm.h"
#include "core/numerics/same_code.h"
#include "tests/backends/rig.h"

namespace shardcheck::shadowing {
namespace {

std::vector<std::byte> bytes_of_codes(DType type, const test::Codes& codes) {
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::vector<std::byte> bytes(codes.size() * size);
  for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(&bytes[i * size], &codes[i], size);
  return bytes;
}

/// Families of operands: near one; huge and tiny side by side, where alignment cuts the tiny ones; sums that
/// cancel; subnormals.
std::uint32_t draw(DType type, int family, std::mt19937_64& random) {
  const double unit = std::ldexp(static_cast<double>(random() >> 11), -53) * 2 - 1;
  const auto spread = static_cast<int>(random() % 24) - 12;
  switch (family) {
    case 0: return test::rounded(type, unit);
    case 1: return test::rounded(type, std::ldexp(unit, spread));
    case 2: return test::rounded(type, random() % 2 == 0 ? 1 + unit / 64 : -1 - unit / 64);
    default: {
      const std::uint32_t subnormal = 1 + static_cast<std::uint32_t>(random() % 100);
      return random() % 2 == 0 ? subnormal : test::rounded(type, unit * 4);
    }
  }
}

struct Used {
  double most = 0;
  int gemms = 0;
};

/// Runs one GEMM by both profiles; EXPECTs the difference inside the sum of both bounds.
void attack(DType operand, DType output, bool accumulate, int family, std::mt19937_64& random, Used& used) {
  const Gemm gemm{1 + static_cast<std::int64_t>(random() % 300), 3, 4, accumulate};
  const auto codes = [&](DType type, std::int64_t count, int from) {
    test::Codes all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(draw(type, from, random));
    return bytes_of_codes(type, all);
  };
  const auto dy = codes(operand, gemm.tokens * gemm.rows, family);
  const auto x = codes(operand, gemm.tokens * gemm.columns, family == 3 ? 0 : family);
  const auto old = codes(output, gemm.rows * gemm.columns, family == 3 ? 0 : 1);
  const GemmOperands all{gemm, operand, output, dy, x, old};
  auto ideal = old, hopper = old;
  wgrad(kIdeal, operand, dy, x, gemm.tokens, gemm.rows, gemm.columns, accumulate, output, ideal);
  wgrad(kHopper, operand, dy, x, gemm.tokens, gemm.rows, gemm.columns, accumulate, output, hopper);
  const auto a = gemm_bound(all, "ideal"), b = gemm_bound(all, "hopper"), c = gemm_bound(all, "unknown");
  for (std::int64_t e = 0; e < gemm.rows * gemm.columns; ++e) {
    const double bound = a[static_cast<std::size_t>(e)] + b[static_cast<std::size_t>(e)];
    if (std::isinf(bound)) continue;
    const double distance = std::abs(value_of_code(output, code_at(output, ideal, e)) -
                                     value_of_code(output, code_at(output, hopper, e)));
    ASSERT_LE(distance, bound) << "family " << family << ", " << gemm.tokens << " tokens";
    ASSERT_LE(b[static_cast<std::size_t>(e)], c[static_cast<std::size_t>(e)]);
    if (bound > 0) used.most = std::max(used.most, distance / bound);
  }
  ++used.gemms;
}

TEST(ErrorBounds, HoldForTheTensorCoreOnAdversarialData) {
  std::mt19937_64 random(31);
  for (DType operand : {DType::bf16, DType::f16}) {
    for (DType output : {DType::f32, operand}) {
      for (bool accumulate : {false, true}) {
        Used used;
        for (int i = 0; i < 200; ++i) attack(operand, output, accumulate, i % 4, random, used);
        // Rounded once to 16 bits, the two agree but near ties: nothing to approach the bound with.
        const bool rounds_alike = output != DType::f32 && !accumulate;
        if (!rounds_alike) {
          EXPECT_GT(used.most, 0.001) << name_of(operand) << " to " << name_of(output) << ": an empty bound";
        }
        EXPECT_LT(used.most, 1);
        RecordProperty(std::string(name_of(operand)) + "_" + std::string(name_of(output)), used.gemms);
      }
    }
  }
}

TEST(ErrorBounds, SayNothingWhereASumMayOverflowAndAskForTheClassOfNan) {
  const auto bound_of = [](double dy, double x) {
    const auto a = bytes_of_codes(DType::f16, {test::rounded(DType::f16, dy)});
    const auto b = bytes_of_codes(DType::f16, {test::rounded(DType::f16, x)});
    return gemm_bound({{1, 1, 1, false}, DType::f16, DType::f16, a, b, {}}, "unknown")[0];
  };
  EXPECT_TRUE(std::isfinite(bound_of(100, 100)));
  EXPECT_TRUE(std::isinf(bound_of(300, 300)));
  EXPECT_TRUE(std::isnan(bound_of(INFINITY, 1)));
  EXPECT_TRUE(std::isnan(bound_of(NAN, 0)));
}

TEST(ErrorBounds, HoldForSumsInEveryOrder) {
  std::mt19937_64 random(32);
  for (DType type : test::kFloats) {
    for (Reduction reduction : {Reduction::sum, Reduction::average}) {
      double most = 0;
      for (int round = 0; round < 2'000; ++round) {
        std::vector<double> values(2 + random() % 14);
        for (double& value : values) value = test::value_of(type, draw(type, round % 3, random));
        const double bound = sum_bound(values, {type, reduction});
        const double factor = test::value_of(
            type, test::rounded(type, reduction == Reduction::average ? 1 / double(values.size()) : 1));
        const auto summed = [&] {
          std::ranges::shuffle(values, random);
          double sum = 0;
          for (std::size_t i = 0; i < values.size(); ++i) {
            const double terms[] = {sum, test::value_of(type, test::rounded(type, values[i] * factor))};
            sum = test::value_of(type, test::rounded_sum(type, terms));
          }
          return sum;
        };
        const double distance = std::abs(summed() - summed());
        ASSERT_LE(distance, 2 * bound);
        if (bound > 0) most = std::max(most, distance / (2 * bound));
      }
      EXPECT_GT(most, 0.05) << name_of(type);
    }
  }
}

}  // namespace
}  // namespace shardcheck::shadowing
