// Ranks of a mesh and the shards they hold: shard-layouts 3.4 (g).
#include "core/layout/mesh.h"

#include <gtest/gtest.h>

namespace shardcheck::layout {
namespace {

std::vector<std::int32_t> shards(const Mesh& mesh) {
  std::vector<std::int32_t> result;
  for (std::int32_t rank = 0; rank < mesh.ranks(); ++rank) result.push_back(shard_of(mesh, Rank{rank}).value);
  return result;
}

TEST(Mesh, HfsdpIsInnerMajor) {
  const Mesh mesh{{{"outer", 2, AxisUse::shard}, {"inner", 2, AxisUse::shard}}};
  EXPECT_EQ(shards(mesh), (std::vector<std::int32_t>{0, 2, 1, 3}));
}

TEST(Mesh, ReplicasHoldTheSameShard) {
  const Mesh mesh{{{"replicate", 2, AxisUse::replicate}, {"dp", 3, AxisUse::shard}}};
  EXPECT_EQ(shards(mesh), (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(mesh.ranks_along(AxisUse::shard), 3);
  EXPECT_EQ(mesh.ranks_along(AxisUse::tensor), 1);
}

}  // namespace
}  // namespace shardcheck::layout
