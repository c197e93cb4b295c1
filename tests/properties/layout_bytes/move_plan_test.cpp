// The plan of a layout's moves has one gather and one reduction a bucket, and copies that fill every shard.
#include "properties/layout_bytes/move_plan.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

laws::Claim claim_of(const std::string& layout, std::int32_t world) {
  return laws::claim_of(
      {layout, {{.name = "P0", .shape = {3, 5}}, {.name = "P1", .shape = {7}}}, layout::mesh_of(world), {}});
}

TEST(MovePlan, GathersAndReducesEveryBucket) {
  const laws::Claim claim = claim_of("zero12-flat", 4);
  ASSERT_TRUE(has_equal_shards(claim));
  const MovePlan move = move_plan(claim, nullptr);
  ASSERT_EQ(move.groups.size(), 1u);
  EXPECT_EQ(move.plan.ranks, 4);
  EXPECT_EQ(move.plan.buffer(move.groups[0].shards).numel, 6);
  EXPECT_EQ(move.plan.buffer(move.groups[0].gathered).numel, 24) << "22 elements, rounded to 2 W";
  EXPECT_EQ(move.groups[0].gathers.size(), 1u);
  EXPECT_TRUE(move.cut.empty());
}

TEST(MovePlan, CopiesFillEveryShardOfTheSecondLayout) {
  const laws::Claim from = claim_of("fsdp2-per-param", 3), to = claim_of("zero12-flat", 2);
  const MovePlan move = move_plan(from, &to);
  std::int64_t copied = 0;
  for (const Op& op : move.plan.ops) {
    if (std::holds_alternative<Copy>(op.action)) copied += move.plan.operand(op, 0)[0].numel;
  }
  EXPECT_EQ(copied, 22) << "both tensors, once";
  EXPECT_EQ(move.cut.size(), 2u);
}

TEST(MovePlan, UnequalShardsHaveNone) {
  EXPECT_FALSE(has_equal_shards(claim_of("megatron-ddp-nopad", 2)));
  EXPECT_FALSE(has_equal_shards(claim_of("mfsdp-v2-tensor-atomic", 2)));
}

}  // namespace
}  // namespace shardcheck
