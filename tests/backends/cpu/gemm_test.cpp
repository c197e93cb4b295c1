// The fast ways of the weight gradient against core/numerics wgrad(), and all of them against exact sums.
#include "backends/cpu/gemm.h"

#include <gtest/gtest.h>

#include "backends/cpu/operand_profile.h"
#include "core/numerics/gemm.h"
#include "tests/backends/rig.h"

namespace shardcheck::test {
namespace {

struct Case {
  DType operand, output;
  std::int64_t tokens, rows, columns;
  bool accumulate;
};

std::vector<std::byte> bytes_from(DType type, const Codes& codes) {
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::vector<std::byte> bytes(codes.size() * size);
  for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(&bytes[i * size], &codes[i], size);
  return bytes;
}

Codes codes_from(DType type, const std::vector<std::byte>& bytes) {
  const auto size = static_cast<std::size_t>(bytes_of(type));
  Codes codes(bytes.size() / size);
  for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(&codes[i], &bytes[i * size], size);
  return codes;
}

/// One GEMM on two ranks; `draw` makes the content. Compares with wgrad() and, for `ideal`, with exact sums.
template <class Draw>
void check(const std::string& profile, const Case& c, std::mt19937_64& random, Draw draw) {
  Rig rig("cpu", profile, 2);
  const View dy = rig.buffer(c.operand, c.tokens * c.rows), x = rig.buffer(c.operand, c.tokens * c.columns);
  const View destination{rig.buffer(c.output, c.rows * c.columns + 6).buffer, 3, c.rows * c.columns};
  std::vector<Codes> dys, xs, olds;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    dys.push_back(random_codes(c.operand, dy.numel, random, draw));
    xs.push_back(random_codes(c.operand, x.numel, random, draw));
    olds.push_back(random_codes(c.output, destination.numel, random, draw));
    rig.write(rank, dy, dys.back());
    rig.write(rank, x, xs.back());
    rig.write(rank, destination, olds.back());
  }
  rig.op(Gemm{c.tokens, c.rows, c.columns, c.accumulate}).on(dy).on(x).on(destination);
  rig.run();
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Codes found = rig.read(rank, destination);
    auto expected = bytes_from(c.output, olds[r]);
    wgrad(profile_for(c.operand, *profile_named(profile)), c.operand, bytes_from(c.operand, dys[r]),
          bytes_from(c.operand, xs[r]), c.tokens, c.rows, c.columns, c.accumulate, c.output, expected);
    const Codes by_profile = codes_from(c.output, expected);
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i], by_profile[i])
          << profile << " " << name_of(c.operand) << " to " << name_of(c.output) << ", " << c.tokens
          << " tokens, element " << i << (c.accumulate ? ", accumulating" : "");
      if (profile != "ideal" || c.tokens == 0) continue;
      std::vector<double> terms = {0.0};  // an exact zero is +0
      const auto row = i / static_cast<std::size_t>(c.columns),
                 column = i % static_cast<std::size_t>(c.columns);
      for (std::size_t t = 0; t < static_cast<std::size_t>(c.tokens); ++t) {
        terms.push_back(value_of(c.operand, dys[r][t * static_cast<std::size_t>(c.rows) + row]) *
                        value_of(c.operand, xs[r][t * static_cast<std::size_t>(c.columns) + column]));
      }
      if (c.accumulate) terms.push_back(value_of(c.output, olds[r][i]));
      ASSERT_TRUE(same(c.output, found[i], rounded_sum(c.output, terms)));
    }
  }
}

template <class Draw>
void check_all(const std::string& profile, Draw draw) {
  std::mt19937_64 random(9);
  for (DType operand : kFloats) {
    for (DType output : kFloats) {
      for (std::int64_t tokens : {0, 1, 2, 7, 33}) {
        for (bool accumulate : {false, true}) {
          check(profile, {operand, output, tokens, 5, 9, accumulate}, random, draw);
          check(profile, {operand, output, tokens, 1, 40, accumulate}, random, draw);
          check(profile, {operand, output, tokens, 13, 1, accumulate}, random, draw);
        }
      }
    }
  }
}

std::uint32_t small_integer(DType type, std::mt19937_64& random) {
  return rounded(type, static_cast<double>(static_cast<int>(random() % 17)) - 8.0);
}

std::uint32_t signed_zero_or_one(DType type, std::mt19937_64& random) {
  constexpr double kValues[] = {0.0, -0.0, 1.0, -1.0};
  return rounded(type, kValues[random() % 4]);
}

TEST(Gemm, IdealOnIntegers) {
  check_all("ideal", small_integer);
}
TEST(Gemm, IdealOnSignedZeros) {
  check_all("ideal", signed_zero_or_one);
}
TEST(Gemm, IdealOnNumbers) {
  check_all("ideal", random_number);
}
TEST(Gemm, IdealOnAnyBits) {
  check_all("ideal", random_code);
}
TEST(Gemm, HopperOnNumbers) {
  check_all("hopper", random_number);
}
TEST(Gemm, HopperOnAnyBits) {
  check_all("hopper", random_code);
}

TEST(Gemm, WithoutTokensWritesZerosOrNothing) {
  for (bool accumulate : {false, true}) {
    Rig rig("cpu", "ideal", 1);
    const View dy = rig.buffer(DType::bf16, 0), x = rig.buffer(DType::bf16, 0),
               out = rig.buffer(DType::f32, 6);
    rig.write(0, dy, {});
    rig.write(0, x, {});
    rig.write(0, out, Codes(6, 0x80000000u));
    rig.op(Gemm{0, 2, 3, accumulate}).on(dy).on(x).on(out);
    rig.run();
    EXPECT_EQ(rig.read(0, out), Codes(6, accumulate ? 0x80000000u : 0u));
  }
}

TEST(GemmDeathTest, ShapesAreChecked) {
  Rig rig("cpu", "ideal", 1);
  const View dy = rig.buffer(DType::bf16, 4), x = rig.buffer(DType::bf16, 6), out = rig.buffer(DType::f32, 5);
  rig.write(0, dy, Codes(4));
  rig.write(0, x, Codes(6));
  rig.write(0, out, Codes(5));
  rig.op(Gemm{2, 2, 3, false}).on(dy).on(x).on(out);
  EXPECT_DEATH(rig.run(), "the destination is not rows x columns");
}

}  // namespace
}  // namespace shardcheck::test
