// dtensor-nd (shard-layouts 2.11): DTensor placements on N-D meshes. What a rank holds of a dimension is a
// list of runs of global indices: one run for plain shards, several for a strided shard, which concatenates.
// The order in which mesh axes cut is explicit, because relabelling axes without moving data is forbidden
// (L19, L20).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/placement.h"
#include "core/layout/range.h"
#include "core/types.h"

namespace shardcheck::layout {

/// What one rank holds.
struct DtensorLocal {
  std::vector<std::vector<Range>> index;  ///< per dimension, maximal runs of global indices by local position
  std::vector<std::int64_t> local_shape;
  std::vector<std::int64_t>
      global_offset;  ///< first global index, or the extent when the shard is empty (B27)
};

/// The shard of `rank`. Throws Rejected (shard_dim_out_of_range), or Error when the options contradict each
/// other.
DtensorLocal dtensor_local(std::span<const std::int64_t> shape, const DtensorOptions& options, Rank rank);

/// A rank's coordinate on the mesh.
std::vector<std::int32_t> mesh_coordinate(std::span<const std::int32_t> mesh, Rank rank);

/// One strided cut of one dimension.
struct StridedCut {
  std::int64_t extent = 0;
  std::int64_t split_factor = 1;
  std::int32_t world = 1;
};

/// What the original's gather of a strided shard returns along the dimension: global indices, -1 for padding.
/// It is not the identity where a rank before the last non-empty one is short (B24).
std::vector<std::int64_t> upstream_strided_unshard(const StridedCut& cut);

}  // namespace shardcheck::layout
