// Where each strategy keeps the gradients. The layouts themselves are tested in tests/core/layout.
#include "sim/owners/geometry.h"

#include <gtest/gtest.h>

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
      const Member& place = g.place_of[p];
      EXPECT_EQ(place.hi - place.lo, s.parameters[p].numel()) << where;
      EXPECT_LE(place.hi, bucket.numel()) << where;
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

TEST(Geometry, ASmallBucketSizeSplitsDdp) {
  Scenario s = base(Strategy::megatron_ddp);
  s.parameters.push_back({.name = "w1", .shape = {4, 32}});
  EXPECT_EQ(geometry_of(s).buckets.size(), 1u);
  s.bucket_size = 128;
  EXPECT_EQ(geometry_of(s).buckets.size(), 2u);
}

}  // namespace
}  // namespace shardcheck::tests
