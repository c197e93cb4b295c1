// Reals: exact in every type, the same whoever asks, and of sums that round.
#include "sim/scenario/data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/numerics/narrow.h"
#include "tests/sim/scenario/cases.h"

namespace shardcheck {
namespace {

using tests::small_scenario;

std::vector<float> x_of(const ScenarioData& data, ContributionKey key) {
  std::vector<float> x(2 * 64), dy(2 * 4);
  data.operands(key, {.tokens = 2}, x, dy);
  return x;
}

Scenario wide() {
  Scenario s = small_scenario();
  s.ranks = 4;
  s.parameters[0].shape = {4, 64};
  return s;
}

TEST(ScenarioData, RealsAreExactInEveryTypeAndLieInTheFirstToken) {
  const Scenario s = wide();
  ScenarioData data(s);
  data.use_reals(Reals::of_its_own);
  const std::vector<float> x = x_of(data, {});
  float least = 16, most = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(bf16_to_f32(f32_to_bf16(x[i])), x[i]);
    EXPECT_EQ(f16_to_f32(f32_to_f16(x[i])), x[i]);
    least = std::min(least, std::fabs(x[i]));
    most = std::max(most, std::fabs(x[i]));
    EXPECT_EQ(x[64 + i], 0);
  }
  EXPECT_GE(least, 0x1p-4f);
  EXPECT_LT(most, 16);
  EXPECT_GT(most / least, 32) << "many magnitudes";
}

TEST(ScenarioData, EveryContributionHasItsOwnReals) {
  const Scenario s = wide();
  ScenarioData data(s);
  data.use_reals(Reals::of_its_own);
  const std::vector<float> x = x_of(data, {});
  for (const ContributionKey& other : {ContributionKey{.step = 1}, ContributionKey{.rank = 1},
                                       ContributionKey{.microbatch = 1}, ContributionKey{.use = 1}})
    EXPECT_NE(x_of(data, other), x);
  EXPECT_EQ(x_of(data, {}), x);
}

TEST(ScenarioData, RanksMayBeAlikeWhateverTheirNumber) {
  const Scenario many = wide();
  Scenario one = wide();
  one.ranks = 1;
  ScenarioData of_many(many), of_one(one);
  of_many.use_reals(Reals::of_one_rank);
  of_one.use_reals(Reals::of_one_rank);
  for (std::int32_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(x_of(of_many, {.rank = rank, .microbatch = 1}), x_of(of_one, {.microbatch = 1}));
}

}  // namespace
}  // namespace shardcheck
