// The inverse of a dtensor cut, against the cut itself on every small tensor and mesh.
#include "core/layout/mesh_cut.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardcheck::layout {
namespace {

void expect_inverse(const MeshCut& cut) {
  std::int64_t longest = 0, held = 0, numel = 1;
  for (const std::int64_t extent : cut.shape) numel *= extent;
  for (std::int32_t rank = 0; rank < mesh_ranks(cut); ++rank) {
    std::vector<Segment> segments;
    append_mesh_segments(cut, ParamId{0}, Rank{rank}, segments);
    std::int64_t local = 0;
    for (const Segment& s : segments) {
      ASSERT_EQ(s.off, local) << "the local storage has a hole";
      local += s.p_hi - s.p_lo;
      for (std::int64_t e = s.p_lo; e < s.p_hi; ++e) {
        bool found = false;
        for (std::int64_t replica = 0; replica < mesh_replicas(cut); ++replica) {
          const MeshHolder holder = mesh_holder(cut, e, replica);
          found = found || (holder.rank == Rank{rank} && holder.off == s.off + e - s.p_lo);
        }
        ASSERT_TRUE(found) << "element " << e << " of rank " << rank;
      }
    }
    longest = std::max(longest, local);
    held += local;
  }
  EXPECT_EQ(held, numel * mesh_replicas(cut));
  EXPECT_EQ(mesh_longest(cut), longest);
}

TEST(MeshCut, EverySmallStridedPair) {
  using enum Placement::Kind;
  for (std::int64_t extent = 0; extent < 14; ++extent) {
    for (const std::int32_t dp : {1, 2, 3, 4}) {
      for (const std::int32_t tp : {1, 2, 3}) {
        for (const auto& order : {std::vector<std::int32_t>{0, 1}, std::vector<std::int32_t>{1, 0}}) {
          expect_inverse({{extent, 2}, {{dp, tp}, {{shard, 0}, {shard, 0}}, order}});
          expect_inverse({{2, extent}, {{dp, tp}, {{shard, 0}, {shard, 1}}, order}});
          expect_inverse({{extent}, {{dp, tp}, {{strided_shard, 0, tp}, {replicate}}, order}});
          expect_inverse({{extent, 3}, {{dp, tp}, {{strided_shard, 0, tp}, {shard, 0}}, order}});
        }
      }
    }
  }
}

TEST(MeshCut, AScalarIsReplicated) {
  expect_inverse({{}, {{3}, {{}}, {0}}});
}

}  // namespace
}  // namespace shardcheck::layout
