#include "properties/generate/random_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/properties/generate/foci.h"

namespace shardcheck {
namespace {

TEST(RandomModel, UsesAreOfItsParametersAndVectorsAreNeverFused) {
  for (const Focus focus : kFoci) {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      Draw draw(seed);
      Scenario s;
      draw_model(draw, focus, s);
      ASSERT_FALSE(s.parameters.empty());
      for (const ScenarioUse& use : s.uses) {
        ASSERT_LT(use.parameter, std::ssize(s.parameters));
        const bool vector = s.parameters[static_cast<std::size_t>(use.parameter)].shape.size() == 1;
        EXPECT_TRUE(!vector || use.producer == Producer::unfused);
      }
    }
  }
}

TEST(RandomModel, ReachesZeroElementsExpertsAndUsesInOtherUnits) {
  bool zero = false, expert = false, elsewhere = false, other = false;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Draw draw(seed);
    Scenario s;
    draw_model(draw, Focus::any, s);
    zero |= std::ranges::any_of(s.parameters, [](const auto& p) { return p.numel() == 0; });
    expert |= std::ranges::any_of(s.parameters, [](const auto& p) { return p.expert; });
    elsewhere |= std::ranges::any_of(s.uses, [](const auto& u) { return u.unit >= 0; });
    other |= std::ranges::any_of(s.uses, [](const auto& u) { return u.producer == Producer::other; });
  }
  EXPECT_TRUE(zero && expert && elsewhere && other);
}

}  // namespace
}  // namespace shardcheck
