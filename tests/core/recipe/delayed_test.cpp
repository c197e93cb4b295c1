// Delayed scaling beyond the golden sequences: m6 of fp8 3.8, microbatches, NaN, and both choices.
#include "core/recipe/delayed.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/recipe/special.h"

namespace shardcheck::recipe {
namespace {

TEST(Delayed, ScalesThatAreUsed) {
  const DelayedOptions options{.history_length = 3};
  DelayedScaling state = first_step(options);
  const float third = 448.0f / 12.0f;
  const float used[] = {1, 128, 128, third, third, third, third, third};
  const float amaxes[] = {3.5f, 0.75f, 12, 12, 0.03125f, kInfinity, 2, 1.5f};
  for (int step = 0; step < 8; ++step) {
    EXPECT_EQ(state.scale, used[step]) << step;
    close_step(options, state, amaxes[step]);
  }
  EXPECT_EQ(state.scale, third) << "infinity is still in the window";
  close_step(options, state, 1);
  EXPECT_EQ(state.scale, 224.0f) << "and has left it: amax 2";
}

TEST(Delayed, AStepKeepsTheLargestOfItsMicrobatches) {
  DelayedScaling state = first_step({.history_length = 2});
  for (const float amax : {8.0f, 2.0f, kNan, 4.0f}) push_amax(state, amax);
  EXPECT_EQ(state.history[0], 8.0f);
}

TEST(Delayed, ANanFreezesTheMostRecentOnly) {
  const DelayedOptions window{.history_length = 2},
      recent{.history_length = 2, .choice = AmaxChoice::most_recent};
  DelayedScaling a = first_step(window), b = first_step(recent);
  for (DelayedScaling* state : {&a, &b}) {
    const DelayedOptions& options = state == &a ? window : recent;
    close_step(options, *state, 7);
    close_step(options, *state, kNan);
    close_step(options, *state, kNan);
  }
  EXPECT_EQ(b.scale, 64.0f);
  EXPECT_EQ(a.scale, 64.0f) << "nothing but NaN: the largest is 0, and the scale stays";
  close_step(recent, b, 14);
  EXPECT_EQ(b.scale, 32.0f);
}

TEST(Delayed, MarginAndOverflow) {
  const DelayedOptions options{.history_length = 1, .margin = 3};
  DelayedScaling state = first_step(options);
  close_step(options, state, 7);
  EXPECT_EQ(state.scale, 8.0f);
  close_step(options, state, 1e-38f);
  EXPECT_EQ(state.scale, std::numeric_limits<float>::max());
  EXPECT_GT(state.scale_inverse, 0.0f) << "a subnormal, not flushed";
}

}  // namespace
}  // namespace shardcheck::recipe
