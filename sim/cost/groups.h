// Groups: which ranks of a mesh a parameter is sharded and reduced over, and how many of a group's members
// share a node: tensor parallelism inside a node spreads the data-parallel group over nodes. Ranks are
// numbered along the mesh, and a node holds consecutive ones. Next: step.h.
#pragma once

#include <cstdint>

#include "core/layout/mesh.h"
#include "sim/cost/collectives.h"
#include "sim/cost/system.h"

namespace shardcheck::cost {

/// The groups of a parameter. Without an outer axis, `inner` is everybody and `outer` one rank.
struct Groups {
  Group inner, outer;
};

/// What the second data-parallel axis of the mesh does in that system: the axes that replicate, or the first
/// of two that shard. Without an axis of that kind, or where the system knows no second axis, none; every
/// data-parallel axis then belongs to one group.
OuterAxis outer_axis_of(const System& system, const layout::Mesh& mesh);

/// How a mesh is seen.
struct MeshView {
  OuterAxis outer = OuterAxis::none;
  std::int32_t expert = 1;  ///< of the sharding ranks, those that share the experts out and lie between
                            ///< two members of an expert's group
  double node = 8;          ///< ranks a node
};
Groups groups_of(const layout::Mesh& mesh, const MeshView& view);

}  // namespace shardcheck::cost
