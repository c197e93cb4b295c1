#include "sim/cost/groups.h"

#include <algorithm>
#include <vector>

namespace shardcheck::cost {
namespace {

using layout::Axis;
using layout::AxisUse;

/// An axis of the mesh that belongs to the group or not.
using Members = std::vector<bool>;

/// True when the rank is in the group of rank 0 and `stride` divides its place there.
bool is_member(const layout::Mesh& mesh, const Members& members, std::int64_t rank, std::int64_t stride) {
  std::int64_t place = 0, scale = 1;
  for (std::size_t axis = mesh.axes.size(); axis-- > 0;) {
    const std::int64_t size = mesh.axes[axis].size, at = rank % size;
    rank /= size;
    if (!members[axis] && at != 0) return false;
    if (!members[axis]) continue;
    place += at * scale;
    scale *= size;
  }
  return place % stride == 0;
}

Group group_along(const layout::Mesh& mesh, const Members& members, std::int64_t stride, double node) {
  Group group;
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    if (members[axis]) group.ranks *= mesh.axes[axis].size;
  }
  group.ranks /= static_cast<double>(stride);
  const auto near = std::min<std::int64_t>(mesh.ranks(), static_cast<std::int64_t>(node));
  group.in_node = 0;
  for (std::int64_t rank = 0; rank < near; ++rank) group.in_node += is_member(mesh, members, rank, stride);
  return group;
}

}  // namespace

OuterAxis outer_axis_of(const System& system, const layout::Mesh& mesh) {
  if (!system.has_outer) return OuterAxis::none;
  if (mesh.ranks_along(AxisUse::replicate) > 1) return OuterAxis::replicates;
  return std::ranges::count(mesh.axes, AxisUse::shard, &Axis::use) > 1 ? OuterAxis::shards : OuterAxis::none;
}

Groups groups_of(const layout::Mesh& mesh, const MeshView& view) {
  Members inner(mesh.axes.size()), outer(mesh.axes.size());
  bool is_first = true;
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    const AxisUse use = mesh.axes[axis].use;
    if (use == AxisUse::tensor) continue;
    const bool is_outer = view.outer == OuterAxis::replicates
                              ? use == AxisUse::replicate
                              : view.outer == OuterAxis::shards && is_first && use == AxisUse::shard;
    if (use == AxisUse::shard) is_first = false;
    (is_outer ? outer : inner)[axis] = true;
  }
  return {group_along(mesh, inner, view.expert, view.node), group_along(mesh, outer, 1, view.node)};
}

}  // namespace shardcheck::cost
