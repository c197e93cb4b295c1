#include "properties/layout_laws/order.h"

#include <algorithm>
#include <vector>

#include "core/layout/dtensor_nd.h"
#include "core/layout/mesh_cut.h"

namespace shardcheck::laws {
namespace {

using layout::AxisUse;
using layout::DtensorOptions;
using layout::Placement;
using layout::Segment;

/// Coordinates on the sharding axes, outermost first.
std::vector<std::pair<std::int32_t, std::int32_t>> shard_coordinates(const layout::Mesh& mesh,
                                                                     std::int32_t rank) {
  std::vector<std::pair<std::int32_t, std::int32_t>> result;  // coordinate, axis size
  std::int32_t stride = mesh.ranks();
  for (const layout::Axis& axis : mesh.axes) {
    stride /= axis.size;
    if (axis.use == AxisUse::shard) result.push_back({rank / stride % axis.size, axis.size});
  }
  return result;
}

/// The axis of the only strided placement when the other axes replicate, or -1.
std::int32_t only_strided_axis(const DtensorOptions& options) {
  std::int32_t found = -1;
  for (std::size_t axis = 0; axis < options.placements.size(); ++axis) {
    if (!options.placements[axis].cuts() || options.mesh[axis] == 1) continue;
    if (found >= 0 || options.placements[axis].kind != Placement::Kind::strided_shard) return -1;
    found = static_cast<std::int32_t>(axis);
  }
  return found;
}

/// True for [_StridedShard(d, sf = size of axis 1), Shard(d)] from left to right, which stands for TP first.
bool is_strided_pair(const DtensorOptions& options) {
  return options.mesh.size() == 2 && options.order == std::vector<std::int32_t>{0, 1} &&
         options.placements[0].kind == Placement::Kind::strided_shard &&
         options.placements[1].kind == Placement::Kind::shard &&
         options.placements[0].dim == options.placements[1].dim &&
         options.placements[0].split_factor == options.mesh[1];
}

void judge_unshard(const Claim& claim, const GroupClaim& group, std::int32_t axis, Findings& findings) {
  const layout::MeshCut& cut = *group.rule.mesh;
  const Placement& placement = cut.options.placements[axis];
  const std::int64_t extent = cut.shape[placement.dim];
  if (extent > 4096) return;
  const auto gathered = layout::upstream_strided_unshard(
      {.extent = extent, .split_factor = placement.split_factor, .world = cut.options.mesh[axis]});
  for (std::int64_t i = 0; i < extent; ++i) {
    if (gathered[i] == i) continue;
    report(findings, claim,
           {.law = "L13",
            .sentence = "the original's gather of a strided shard returns another row, or padding (-1)",
            .element = i,
            .expected = i,
            .actual = gathered[i]},
           group.rule.slots.front().param);
    return;
  }
}

void judge_pair(const Claim& claim, const GroupClaim& group, Findings& findings) {
  const layout::MeshCut& cut = *group.rule.mesh;
  layout::MeshCut truth = cut;
  truth.options.placements[0] = truth.options.placements[1];
  truth.options.order = {1, 0};
  for (std::int32_t rank = 0; rank < group.rule.world; ++rank) {
    std::vector<Segment> expected;
    layout::append_mesh_segments(truth, group.rule.slots.front().param, Rank{rank}, expected);
    const auto& actual = group.shard(rank, 0).segs;
    // Runs may be joined differently; the elements in their order are what counts.
    const auto elements = [](const std::vector<Segment>& segments) {
      std::vector<std::int64_t> result;
      for (const Segment& s : segments) {
        for (std::int64_t e = s.p_lo; e < s.p_hi; ++e) result.push_back(e);
      }
      return result;
    };
    if (elements(actual) == elements(expected)) continue;
    report(findings, claim,
           {.law = "L20",
            .sentence = "a strided pair read from left to right is not tensor parallelism first",
            .rank = rank},
           group.rule.slots.front().param);
    return;
  }
}

}  // namespace

void judge_mesh_order(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (std::int32_t rank = 0; rank < std::ssize(claim.shard_of); ++rank) {
    std::int32_t expected = 0, weight = 1;  // the outermost axis counts least: i * O + o
    for (const auto& [coordinate, size] : shard_coordinates(claim.asked.mesh, rank)) {
      expected += coordinate * weight;
      weight *= size;
    }
    if (claim.shard_of[rank].value == expected) continue;
    report(findings, claim,
           {.law = "L19",
            .sentence = "it holds another shard than its coordinates say",
            .rank = rank,
            .expected = expected,
            .actual = claim.shard_of[rank].value});
  }
}

void judge_several_axes(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (const Piece& piece : facts.pieces) {
    const layout::Buffer& rule = claim.groups[piece.group].rule;
    if (rule.cut != layout::Cut::mesh) continue;
    const Segment& s = piece.segment;
    if (s.p_lo < 0 || s.p_hi > claim.parameter(s.param).numel()) continue;  // L1 says it
    for (std::int64_t element = s.p_lo; element < s.p_hi;) {
      const layout::MeshHolder holder = layout::mesh_holder(*rule.mesh, element, 0);
      if (holder.rank != piece.rank || holder.off != s.off + element - s.p_lo) {
        report(findings, claim,
               {.law = "L20",
                .sentence = "undoing the cuts in reverse order finds the element elsewhere",
                .rank = piece.rank.value,
                .element = element,
                .expected = holder.rank.value,
                .actual = piece.rank.value},
               s.param);
        return;
      }
      element += holder.run;
    }
  }
}

void judge_upstream_strided(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (const GroupClaim& group : claim.groups) {
    if (group.rule.cut != layout::Cut::mesh || group.rule.slots.front().numel > 4096) continue;
    const DtensorOptions& options = group.rule.mesh->options;
    if (const std::int32_t axis = only_strided_axis(options); axis >= 0) {
      judge_unshard(claim, group, axis, findings);
    }
    if (is_strided_pair(options)) judge_pair(claim, group, findings);
  }
}

}  // namespace shardcheck::laws
