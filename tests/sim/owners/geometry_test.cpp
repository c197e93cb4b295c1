// Where each strategy keeps the gradients. The layouts themselves are tested in tests/core/layout.
#include "sim/owners/geometry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

Scenario mixed_model(Strategy strategy) {
  Scenario s = base(strategy);
  s.ranks = 4;
  s.expert_parallel = 2;
  s.parameters = {{.name = "w0", .shape = {4, 32}},
                  {.name = "frozen", .shape = {4, 32}, .trainable = false},
                  {.name = "expert", .shape = {4, 32}, .expert = true, .unit = 1},
                  {.name = "bias", .shape = {5}, .unit = 1}};
  return s;
}

TEST(Geometry, EveryTrainedParameterHasOnePlaceInABucketOfItsKind) {
  for (int i = 0; i < kStrategies; ++i) {
    const Scenario s = mixed_model(static_cast<Strategy>(i));
    const Geometry g = geometry_of(s);
    ASSERT_EQ(g.bucket_of.size(), s.parameters.size());
    for (std::size_t p = 0; p < s.parameters.size(); ++p) {
      const std::string where = std::string(name_of(s.strategy)) + ", " + s.parameters[p].name;
      if (!s.parameters[p].trainable) {
        EXPECT_EQ(g.bucket_of[p], -1) << where;
        continue;
      }
      ASSERT_GE(g.bucket_of[p], 0) << where;
      const OwnerBucket& bucket = g.buckets[static_cast<std::size_t>(g.bucket_of[p])];
      std::int64_t next = 0;  // pieces follow each other in the parameter
      for (const Member& piece : g.pieces_of[p]) {
        EXPECT_EQ(piece.parameter, static_cast<std::int32_t>(p)) << where;
        EXPECT_EQ(piece.first, next) << where;
        next += piece.hi - piece.lo;
        EXPECT_LE(piece.hi, bucket.numel()) << where;
      }
      EXPECT_EQ(next, s.parameters[p].numel()) << where;
      const bool cut = s.strategy == Strategy::fsdp2 || s.strategy == Strategy::deepspeed_3;
      if (!cut) {
        EXPECT_EQ(g.pieces_of[p].size(), 1u) << where;
      }
      EXPECT_EQ(std::ranges::count(bucket.parameters, static_cast<std::int32_t>(p)), 1) << where;
      EXPECT_EQ(bucket.expert, s.parameters[p].expert) << where;
      EXPECT_EQ(bucket.group, s.parameters[p].expert ? 2 : 4) << where;
    }
  }
}

TEST(Geometry, BucketsTileTheirFlatBuffersAndSlicesAreWhole) {
  for (int i = 0; i < kStrategies; ++i) {
    const Scenario s = mixed_model(static_cast<Strategy>(i));
    const Geometry g = geometry_of(s);
    std::vector<std::int64_t> sizes(g.flat_sizes.size());
    for (const OwnerBucket& bucket : g.buckets) {
      sizes[static_cast<std::size_t>(bucket.flat)] += bucket.numel();
      if (shards_gradient(s.strategy)) {
        EXPECT_EQ(bucket.slice() * bucket.group, bucket.numel());
      }
      for (std::size_t m = 1; m < bucket.members.size(); ++m)
        EXPECT_GE(bucket.members[m].lo, bucket.members[m - 1].hi) << "ascending and apart";
    }
    EXPECT_EQ(sizes, g.flat_sizes) << name_of(s.strategy);
  }
}

/// FSDP2 cuts every parameter by itself, along rows: rank-major in the input of the reduce-scatter.
TEST(Geometry, Fsdp2GivesEveryRankItsRowsOfEveryParameter) {
  Scenario s = base(Strategy::fsdp2);
  s.ranks = 2;
  s.parameters = {{.name = "w0", .shape = {3, 2}}, {.name = "w1", .shape = {1, 4}}};
  const Geometry g = geometry_of(s);
  ASSERT_EQ(g.buckets.size(), 1u);
  EXPECT_EQ(g.buckets[0].numel(), 16) << "two ranks with 2 x 2 and 1 x 4 elements each, padding included";
  ASSERT_EQ(g.pieces_of[0].size(), 2u);
  EXPECT_EQ(g.pieces_of[0][0].lo, 0);
  EXPECT_EQ(g.pieces_of[0][1].lo, 8) << "rank 1's rows begin its part";
  EXPECT_EQ(g.pieces_of[0][1].first, 4);
  EXPECT_EQ(g.pieces_of[0][1].hi, 10) << "one row only";
  ASSERT_EQ(g.pieces_of[1].size(), 1u) << "rank 1 has no row of it";
  EXPECT_EQ(g.pieces_of[1][0].lo, 4);
}

TEST(Geometry, OuterGroupsShardForThemselvesUnlessTheyShareEveryShard) {
  Scenario s = base(Strategy::fsdp_optim_grads);
  s.ranks = 4;
  s.outer = 2;
  s.parameters = {{.name = "w0", .shape = {1, 6}}};
  EXPECT_EQ(geometry_of(s).buckets[0].group, 2);
  EXPECT_EQ(geometry_of(s).buckets[0].numel(), 12) << "one row of 6 elements a rank";
  s.outer_mode = OuterMode::shard;
  EXPECT_EQ(geometry_of(s).buckets[0].group, 2);
  EXPECT_EQ(geometry_of(s).buckets[0].numel(), 24) << "each shard is cut once more";
}

TEST(Geometry, ASmallBucketSizeSplitsDdp) {
  Scenario s = base(Strategy::megatron_ddp);
  s.parameters.push_back({.name = "w1", .shape = {4, 32}});
  EXPECT_EQ(geometry_of(s).buckets.size(), 1u);
  s.bucket_size = 128;
  EXPECT_EQ(geometry_of(s).buckets.size(), 2u);
}

}  // namespace
}  // namespace shardcheck::tests
