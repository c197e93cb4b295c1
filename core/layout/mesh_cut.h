// Who holds what of one tensor under dtensor-nd placements, without walking the mesh: a cut is undone axis by
// axis, so one answer costs the number of axes and dimensions. Invariant: mesh_holder is the inverse of
// append_mesh_segments. Next: dtensor_nd.h, the cut itself; ownership.h, the same for every layout.
#pragma once

#include <cstdint>
#include <vector>

#include "core/layout/layout.h"

namespace shardcheck::layout {

/// Appends what `rank` holds of the tensor, ascending by `off`, in its row-major local storage.
void append_mesh_segments(const MeshCut& cut, ParamId param, Rank rank, std::vector<Segment>& segments);

/// Ranks that hold one element: the product of the axes that do not cut.
std::int64_t mesh_replicas(const MeshCut& cut);

/// Ranks of the mesh.
std::int64_t mesh_ranks(const MeshCut& cut);

/// The longest local storage of any rank, in elements.
std::int64_t mesh_longest(const MeshCut& cut);

/// Where one element lies.
struct MeshHolder {
  Rank rank;
  std::int64_t off = 0;  ///< in the rank's local storage
  std::int64_t run = 0;  ///< elements from this one on that lie behind it in the same storage
};

/// The holder of `element`, in [0, numel), within replica number `replica`.
MeshHolder mesh_holder(const MeshCut& cut, std::int64_t element, std::int64_t replica);

}  // namespace shardcheck::layout
