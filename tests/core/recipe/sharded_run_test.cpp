// The simulated ranks: K28's two ranks agree on one scale, and schedules that do not match stop.
#include "core/recipe/sharded_run.h"

#include <gtest/gtest.h>

#include "core/recipe/catalogue.h"

namespace shardcheck::recipe {
namespace {

ShardedCall one_and_four() {
  ShardedCall call{.recipe = find_recipe("te-current")};
  call.weights = {{.name = "W", .extent = {1, 2}, .master = {1, 4}, .owned = {{{0, 1}}, {{1, 2}}}}};
  return call;
}

TEST(ShardedRun, TwoRanksShareOneScale) {
  const ShardedCall call = one_and_four();
  const ShardedOutcome outcome = run_sharded(call, plan_sharded(call));
  EXPECT_FALSE(outcome.stuck_at);
  for (const auto& weights : outcome.ranks) {
    EXPECT_EQ(weights[0].scales[0].blocks[0].factor, 112.0f);
    EXPECT_EQ(dequantize(*call.recipe, weights[0].copies[0]), (std::vector<float>{1, 4}));
    EXPECT_EQ(weights[0].copies[1].stored, (Extent{2, 1}));
  }
  EXPECT_EQ(outcome.ranks[0][0].own_amaxes, (std::vector<float>{1}));
  EXPECT_EQ(outcome.ranks[0][0].cast_codes[0][1], kCanary) << "the other rank's element, before the gather";
}

TEST(ShardedRun, CollectivesThatDoNotMatchAreAHang) {
  const ShardedCall call = one_and_four();
  ShardedPlan plan = plan_sharded(call);
  plan.schedules[1].erase(plan.schedules[1].begin() + 1);
  const ShardedOutcome outcome = run_sharded(call, plan);
  ASSERT_TRUE(outcome.stuck_at);
  EXPECT_EQ(*outcome.stuck_at, (std::vector<std::size_t>{1, 3}));
}

}  // namespace
}  // namespace shardcheck::recipe
