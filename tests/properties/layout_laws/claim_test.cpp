// A claim writes out what the layout says, and a question prints itself.
#include "properties/layout_laws/claim.h"

#include <gtest/gtest.h>

#include "properties/layout_laws/zoo_models.h"

namespace shardcheck::laws {
namespace {

TEST(Claim, WritesOutEveryRank) {
  const Claim claim = claim_of(ask("zero12-flat", {{3, 3}, {5}, {2, 4}}, 4));
  ASSERT_EQ(claim.groups.at(0).shards.size(), 4u);
  EXPECT_EQ(claim.groups[0].shard(3, 0).pad_numel, 2);  // shard-layouts 3.11 (a)
  EXPECT_EQ(claim.groups[0].shard(1, 0).segs.at(1), (layout::Segment{ParamId{1}, 0, 3, 3}));
}

TEST(Claim, ScalePlanesAreThoseOfMxfp8) {
  const Claim claim = claim_of(ask("mfsdp-v2-block-atomic", {{128, 64}}, 2));
  ASSERT_EQ(claim.groups.at(0).planes.size(), 2u);
  EXPECT_EQ(claim.groups[0].planes[0].shards.at(0).segs.at(0).p_hi, 128);  // shard-layouts 3.6
  EXPECT_TRUE(
      claim_of(ask("mfsdp-v2-block-atomic", {{4, 3}}, 2, {.block_rows = 2})).groups.at(0).planes.empty());
}

TEST(Claim, TheFirstReplicaHoldsEverythingOnce) {
  Asked asked = ask("dtensor-nd", {{4}}, 1);
  asked.mesh = {{{"r", 2, layout::AxisUse::replicate}, {"dp", 2, layout::AxisUse::shard}}};
  const Claim claim = claim_of(asked);
  std::vector<bool> first;
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    first.push_back(is_first_replica(claim.groups.at(0).rule, Rank{rank}));
  }
  EXPECT_EQ(first, (std::vector<bool>{true, true, false, false}));
}

TEST(Claim, AQuestionNamesItsLayoutMeshAndShapes) {
  EXPECT_EQ(to_text(ask("zero3-flat", {{2, 3}, {}}, 4)), "zero3-flat dp=4: bf16(2,3); bf16()");
  EXPECT_EQ(to_text(ask("zero3-flat", {{2}}, 4, {.sub_group_size = 3})),
            "zero3-flat dp=4: bf16(2); sub_group_size 3");
}

}  // namespace
}  // namespace shardcheck::laws
