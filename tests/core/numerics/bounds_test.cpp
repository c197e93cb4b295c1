// Tries to break the growth bound: sums in random orders, in fp32 and in bf16, and the order that loses most.
#include "core/numerics/bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/numerics/narrow.h"
#include "core/numerics/philox.h"

namespace shardcheck {
namespace {

float added(DType type, float a, float b) {
  return type == DType::f32 ? a + b : bf16_to_f32(f32_to_bf16(a + b));
}

RoundingPath path_of(DType type, std::int64_t roundings) {
  // A bf16 addition is an fp32 addition and a rounding to bf16.
  return {.f32 = roundings, .bf16 = type == DType::bf16 ? roundings : 0, .f16 = 0};
}

/// Numbers with 24 (8 for bf16) significant bits over 16 binades: up to 2^10 of them add exactly in a double.
std::vector<float> random_terms(DType type, std::uint64_t stream, std::size_t count) {
  std::vector<float> terms;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto words = philox(7, stream, i);
    const float magnitude =
        std::ldexp(static_cast<float>(words[0] >> 8 | 1u << 23), static_cast<int>(words[1] % 16));
    const float term = words[2] % (stream % 3 + 1) == 0 ? magnitude : -magnitude;
    terms.push_back(type == DType::f32 ? term : bf16_to_f32(f32_to_bf16(term)));
  }
  return terms;
}

/// |computed - exact| / sum |x| for a random tree: two random terms are replaced by their rounded sum until
/// one is left.
double relative_error(DType type, std::vector<float> terms, std::uint64_t stream) {
  double exact = 0;
  double magnitudes = 0;
  for (const float term : terms) {
    exact += static_cast<double>(term);
    magnitudes += std::abs(static_cast<double>(term));
  }
  for (std::uint64_t i = 0; terms.size() > 1; ++i) {
    const auto words = philox(8, stream, i);
    std::swap(terms[words[0] % terms.size()], terms.back());
    const float last = terms.back();
    terms.pop_back();
    float& other = terms[words[1] % terms.size()];
    other = added(type, other, last);
  }
  return std::abs(static_cast<double>(terms[0]) - exact) / magnitudes;
}

TEST(Bounds, RandomSumsInRandomOrdersStayInside) {
  for (const DType type : {DType::f32, DType::bf16}) {
    double largest_share = 0;
    for (std::uint64_t stream = 0; stream < 2000; ++stream) {
      const std::size_t count = 2 + stream % 300;
      const double bound = growth(path_of(type, static_cast<std::int64_t>(count) - 1));
      const double share = relative_error(type, random_terms(type, stream, count), stream) / bound;
      largest_share = std::max(largest_share, share);
    }
    EXPECT_LE(largest_share, 1) << name_of(type);
    EXPECT_GT(largest_share, 0.01) << name_of(type) << ": the trial rounds too little to say anything";
  }
}

TEST(Bounds, TiesThatAllGoDownComeCloseToTheBound) {
  for (const DType type : {DType::f32, DType::bf16}) {
    // 1 + u is a tie that goes down to the even 1, again and again: the loss is n u of a sum of 1 + n u.
    const auto u = static_cast<float>(unit_roundoff(type));
    float sum = 1;
    constexpr int kTerms = 16;
    for (int i = 0; i < kTerms; ++i) sum = added(type, sum, u);
    const double exact = 1 + kTerms * static_cast<double>(u);
    const double share = std::abs(static_cast<double>(sum) - exact) / exact / growth(path_of(type, kTerms));
    EXPECT_LE(share, 1);
    EXPECT_GT(share, 0.8) << name_of(type);
  }
}

TEST(Bounds, GrowthOfNothingOneAndTooMany) {
  EXPECT_EQ(growth({0, 0, 0}), 0);
  EXPECT_GE(growth({1, 0, 0}), 0x1p-24);
  EXPECT_LE(growth({1, 0, 0}), 0x1.0001p-24);
  EXPECT_GT(growth({1, 1, 1}), growth({0, 1, 1}));
  EXPECT_TRUE(std::isinf(growth({0, 1 << 20, 0})));
}

}  // namespace
}  // namespace shardcheck
