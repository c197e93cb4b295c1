// A plan of sharded quantisation in detail: steps in order, packed places, batches of one group each.
#include "core/recipe/sharded.h"

#include <gtest/gtest.h>

#include "core/recipe/catalogue.h"

namespace shardcheck::recipe {
namespace {

ShardedWeight weight(Extent extent, std::vector<std::vector<layout::Range>> owned) {
  return {.name = "W",
          .extent = extent,
          .master = std::vector<float>(static_cast<std::size_t>(extent.numel())),
          .owned = std::move(owned)};
}

TEST(Sharded, StepsAndPackedPlaces) {
  ShardedCall call{.recipe = find_recipe("te-mxfp8")};
  call.weights = {weight({2, 33}, {{{0, 10}}, {{10, 66}}}), weight({1, 5}, {{}, {{0, 5}}}),
                  weight({1, 4}, {{{0, 4}}})};
  EXPECT_EQ(call.ranks(), 2);
  EXPECT_EQ(amax_count(*call.recipe, {2, 33}), 2 * 2 + 33);
  const ShardedPlan plan = plan_sharded(call);
  EXPECT_EQ(plan.weights[1].packed_at, 37);
  ASSERT_EQ(plan.schedules[1].size(), 5u) << "nothing is derived";
  EXPECT_EQ(plan.schedules[1][1],
            (Step{.act = Act::reduce, .first = 0, .count = 2, .group = 2, .length = 37 + 6}));
  ASSERT_EQ(plan.schedules[0].size(), 10u);
  EXPECT_EQ(plan.schedules[0][1],
            (Step{.act = Act::reduce, .first = 2, .count = 1, .group = 1, .length = 5}));
  call.weights_at_once = 1;
  EXPECT_EQ(plan_sharded(call).schedules[1].size(), 10u);
}

TEST(Sharded, AGivenScaleCastsBeforeItMeasuresAndNanTravelsAsBits) {
  ShardedCall call{.recipe = find_recipe("te-delayed")};
  call.weights = {weight({1, 1}, {{{0, 1}}})};
  EXPECT_EQ(plan_sharded(call).schedules[0][1].act, Act::cast);
  call.recipe = find_recipe("ao-tensorwise");
  EXPECT_EQ(plan_sharded(call).schedules[0][1].wire, AmaxWire::bits_max);
}

TEST(Sharded, RoundingFirstIsDeclared) {
  const float master[] = {1.0f + 0x1p-8f + 0x1p-20f, 1.0f + 0x1p-8f};
  EXPECT_EQ(rounded_to(FormatId::bf16, master), (std::vector<float>{1.0f + 0x1p-7f, 1.0f}));
  EXPECT_EQ(rounded_to(std::nullopt, master), (std::vector<float>{master[0], master[1]}));
}

}  // namespace
}  // namespace shardcheck::recipe
