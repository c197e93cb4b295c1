#include "properties/generate/room.h"

#include <gtest/gtest.h>

#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

Scenario eight_ranks(std::vector<std::int64_t> shape) {
  Scenario s;
  s.ranks = 8;
  s.parameters.push_back({.name = "w0", .shape = std::move(shape)});
  s.uses = {{0, Producer::unfused, -1}};
  return s;
}

TEST(Room, LengthensTheLongerSideToTheDigits) {
  // 2 steps x 8 ranks x 2 microbatches = 32 contributions at 12 digits an fp32 element: 3 lanes.
  Scenario wide = eight_ranks({1, 2}), tall = eight_ranks({2, 1}), vector = eight_ranks({1});
  EXPECT_TRUE(make_room(wide, 0) && make_room(tall, 1) && make_room(vector, 0));
  EXPECT_EQ(wide.parameters[0].shape, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(tall.parameters[0].shape, (std::vector<std::int64_t>{4, 1}));
  EXPECT_EQ(vector.parameters[0].shape, (std::vector<std::int64_t>{3}));
  for (const Scenario& s : {wide, tall, vector}) EXPECT_NO_THROW(validate(s, "room"));
}

TEST(Room, LeavesAShapeThatFitsAndRefusesALargeOne) {
  Scenario fits = eight_ranks({1, 3});
  EXPECT_TRUE(make_room(fits, 5));
  EXPECT_EQ(fits.parameters[0].shape, (std::vector<std::int64_t>{1, 3}));
  Scenario large = eight_ranks({1, 1});
  large.microbatches = 64;  // 1024 contributions: 86 lanes
  EXPECT_FALSE(make_room(large, 0));
}

TEST(Room, TokensOfAStepBecomeAPowerOfTwo) {
  Scenario s = eight_ranks({1, 3});
  s.ranks = 3;
  s.loss = Loss::per_token;
  EXPECT_FALSE(has_exact_scale(s));
  make_tokens_exact(s);
  EXPECT_EQ(tokens_of_step(s), 8);
  EXPECT_TRUE(has_exact_scale(s));
  s.token_counts.push_back({2, 1, 0});
  make_tokens_exact(s);
  EXPECT_EQ(tokens_of_step(s), 8);
  EXPECT_EQ(s.token_counts.size(), 2u);
}

TEST(Room, MeanLossIsExactOnPowersOfTwo) {
  Scenario s = eight_ranks({1, 3});
  EXPECT_TRUE(has_exact_scale(s));
  s.ranks = 6;
  EXPECT_FALSE(has_exact_scale(s));
}

}  // namespace
}  // namespace shardcheck
