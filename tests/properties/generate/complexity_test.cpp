#include "properties/generate/complexity.h"

#include <gtest/gtest.h>

#include "properties/generate/random_scenario.h"

namespace shardcheck {
namespace {

TEST(Complexity, IsNeverNegativeSoEveryDescentEnds) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Draw draw(seed);
    for (const std::int64_t entry : complexity_of(random_unsound_scenario(draw, Focus::any)))
      ASSERT_GE(entry, 0);
  }
}

TEST(Complexity, ExpertsCount) {
  Scenario apart;
  apart.parameters = {{.name = "w0", .shape = {4, 6}}, {.name = "w1", .shape = {4, 6}}};
  apart.uses = {{.parameter = 0}, {.parameter = 1}};
  Scenario together = apart, in_one = apart;
  together.uses[1].grouped = true;
  in_one.parameters[0].groups = 2;
  EXPECT_LT(complexity_of(apart), complexity_of(together));
  EXPECT_LT(complexity_of(apart), complexity_of(in_one));
}

}  // namespace
}  // namespace shardcheck
