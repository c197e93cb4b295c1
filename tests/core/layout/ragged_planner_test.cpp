// Golden tables of shard-layouts 3.12 (c) to (e).
#include "core/layout/ragged_planner.h"

#include <gtest/gtest.h>

#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

/// A tensor of `numel` elements in blocks of `block`.
Parameter blocks(std::int64_t numel, std::int64_t block) {
  return {.name = "blocks", .shape = {numel}, .block_rows = block};
}

TEST(RaggedPlanner, C_ThreeTensors) {
  const std::vector<Parameter> parameters{blocks(24, 6), blocks(16, 4), blocks(6, 2)};
  const Buffer buffer = plan_ragged(parameters, {.world = 3});
  EXPECT_EQ(buffer.size, 54);
  EXPECT_EQ(offsets(buffer, 3), (Numbers{0, 24, 40}));
  EXPECT_EQ(spelled_ranks(buffer),
            (Strings{"P0[0:18]@0", "P0[18:24]@0 P1[0:12]@6", "P1[12:16]@0 P2[0:6]@4"}));
}

TEST(RaggedPlanner, D_TwoTensors) {
  const std::vector<Parameter> parameters{blocks(20, 4), blocks(9, 3)};
  const Buffer buffer = plan_ragged(parameters, {.world = 2});
  EXPECT_EQ(buffer.size, 32);
  EXPECT_EQ(offsets(buffer, 2), (Numbers{0, 20}));
}

TEST(RaggedPlanner, E_FourRanks) {
  const std::vector<Parameter> parameters{blocks(40, 8), blocks(12, 4), blocks(10, 2)};
  const Buffer buffer = plan_ragged(parameters, {.world = 4});
  EXPECT_EQ(buffer.size, 64);
  EXPECT_EQ(offsets(buffer, 3), (Numbers{0, 40, 52}));
  EXPECT_EQ(spelled(buffer, 2), "P0[32:40]@0 P1[0:8]@8");
  EXPECT_EQ(spelled(buffer, 3), "P1[8:12]@0 P2[0:10]@4");
}

TEST(RaggedPlanner, TheShardIsAMultipleOfTheGranularity) {
  EXPECT_EQ(plan_ragged({}, {.world = 2, .granularity = 16}).size, 32);
  EXPECT_EQ(plan_ragged(std::vector{blocks(33, 1)}, {.world = 2, .granularity = 16}).size, 64);
}

}  // namespace
}  // namespace shardcheck::layout
