// Every possible cast explains itself, and contradictions are the smallest.
#include "tools/shardcheck/fp8/explanation.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardcheck::fp8 {
namespace {

/// Inputs on which any two policies that differ anywhere differ: thresholds, overflow, infinities and NaNs.
std::vector<ObservedCast> observed_of(const NamedCast& cast) {
  std::vector<ObservedCast> observed;
  for (std::uint32_t bits : {0x3F8C0001u, 0x3F7FFFFFu, 0x477FFFFFu, 0x7F7FFFFFu, 0x7F800000u, 0x7FC00000u})
    for (std::uint32_t sign : {0u, 0x80000000u}) observed.push_back({bits | sign, cast.code_of(bits | sign)});
  return observed;
}

TEST(Fp8Explanation, EveryCastExplainsItself) {
  for (FormatId format : {FormatId::e4m3, FormatId::e5m2}) {
    const auto casts = possible_casts(format);
    EXPECT_EQ(casts.size(), 32u);
    for (const NamedCast& cast : casts) {
      const Explanation explanation = explain(casts, observed_of(cast));
      ASSERT_FALSE(explanation.explaining.empty()) << cast.name;
      for (const NamedCast& other : explanation.explaining)
        EXPECT_FALSE(input_that_tells(cast, other)) << cast.name << " and " << other.name;
    }
  }
}

/// No smaller set of pairs is unexplained: every part of it has an explanation.
TEST(Fp8Explanation, AContradictionHasNoSpareMember) {
  const auto casts = possible_casts(FormatId::e5m2);
  std::vector<ObservedCast> observed = observed_of(casts[0]);
  const auto other = observed_of(casts[2]);
  observed.insert(observed.end(), other.begin(), other.end());
  const Explanation explanation = explain(casts, observed);
  ASSERT_EQ(explanation.contradiction.size(), 2u);
  for (std::size_t pair : explanation.contradiction)
    EXPECT_FALSE(explain(casts, std::span(&observed[pair], 1)).explaining.empty());
}

TEST(Fp8Explanation, ACodeThatNothingGivesIsEnough) {
  const ObservedCast odd[] = {{0x3F800000u, 0x38}, {0x3F800000u, 0x11}};
  EXPECT_EQ(explain(possible_casts(FormatId::e4m3), odd).contradiction, std::vector<std::size_t>{1});
}

TEST(Fp8Explanation, AnInputThatTells) {
  const auto casts = named_casts(FormatId::e4m3);
  EXPECT_EQ(input_that_tells(casts[0], casts[1]), 0x43E80001u);
  EXPECT_FALSE(input_that_tells(casts[0], casts[0]));
}

}  // namespace
}  // namespace shardcheck::fp8
