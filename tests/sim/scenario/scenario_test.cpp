#include "sim/scenario/scenario.h"

#include <gtest/gtest.h>

#include "tests/sim/scenario/cases.h"

namespace shardcheck {
namespace {

TEST(Scenario, TheNearestCountSaysHowManyTokensAProductSees) {
  Scenario s = tests::small_scenario();
  s.tokens = 7;
  s.parameters[0].groups = 2;
  s.token_counts = {{.rank = 0, .microbatch = 0, .tokens = 3, .parameter = 0, .group = 1},
                    {.rank = 0, .microbatch = 0, .tokens = 2, .parameter = 0},
                    {.rank = 0, .microbatch = 0, .tokens = 9},
                    {.rank = 1, .microbatch = 0, .tokens = 1}};
  EXPECT_EQ(tokens_at(s, {.parameter = 0, .group = 0, .rank = 0, .microbatch = 0}), 2) << "of the parameter";
  EXPECT_EQ(tokens_at(s, {.parameter = 0, .group = 1, .rank = 0, .microbatch = 0}), 3) << "of the group";
  EXPECT_EQ(tokens_at(s, {.parameter = 1, .group = 0, .rank = 0, .microbatch = 0}), 9) << "of the microbatch";
  EXPECT_EQ(tokens_at(s, {.parameter = 0, .group = 1, .rank = 1, .microbatch = 0}), 1);
  EXPECT_EQ(tokens_at(s, {.parameter = 0, .group = 1, .rank = 1, .microbatch = 1}), 7) << "of all";
  EXPECT_EQ(most_tokens(s), 9);
}

TEST(Scenario, TheLossCountsMicrobatchesAndNotWhatIsRouted) {
  Scenario s = tests::small_scenario();
  s.token_counts = {{.rank = 0, .microbatch = 0, .tokens = 0, .parameter = 0}};
  EXPECT_EQ(tokens_of(s, 0, 0), 1);
  EXPECT_EQ(tokens_of_step(s), 4);
}

}  // namespace
}  // namespace shardcheck
