#include "core/layout/mesh_cut.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/assert.h"
#include "core/integers.h"
#include "core/layout/dtensor_nd.h"
#include "core/layout/sizes.h"

namespace shardcheck::layout {
namespace {

/// Length of part `part` of `extent` in ceil-chunks over `parts` (shard-layouts 2.1).
std::int64_t part_length(std::int64_t extent, std::int64_t parts, std::int64_t part) {
  const std::int64_t chunk = div_ceil(extent, parts);
  return std::min(extent, (part + 1) * chunk) - std::min(extent, part * chunk);
}

std::int64_t factor_of(const Placement& placement) {
  return placement.kind == Placement::Kind::strided_shard ? placement.split_factor : 1;
}

/// What rank `part` of `parts` holds of `extent` that is first cut into pieces of `piece` elements.
std::int64_t strided_length(std::int64_t extent, std::int64_t piece, std::int64_t parts, std::int64_t part) {
  if (extent == 0) return 0;
  return extent / piece * part_length(piece, parts, part) + part_length(extent % piece, parts, part);
}

/// A position along one dimension, and how it narrows while axes cut.
struct Along {
  std::int64_t position = 0, extent = 0;
  std::int64_t run = 0;  ///< positions from here on that stay together
};

/// Cuts once more; returns the coordinate on the axis that gets the position.
std::int32_t narrow(Along& along, std::int64_t factor, std::int32_t parts) {
  const std::int64_t piece = div_ceil(along.extent, factor);
  const std::int64_t number = along.position / piece;
  const std::int64_t inside = along.position - number * piece;
  const std::int64_t length = std::min(along.extent, (number + 1) * piece) - number * piece;
  const std::int64_t chunk = div_ceil(length, parts);
  const std::int64_t part = inside / chunk;
  along.run = std::min(along.run, std::min(length, (part + 1) * chunk) - inside);
  along.position = number * part_length(piece, parts, part) + inside - part * chunk;
  along.extent = strided_length(along.extent, piece, parts, part);
  return static_cast<std::int32_t>(part);
}

}  // namespace

void append_mesh_segments(const MeshCut& cut, ParamId param, Rank rank, std::vector<Segment>& segments) {
  const DtensorLocal local = dtensor_local(cut.shape, cut.options, rank);
  for (const std::int64_t extent : local.local_shape) {
    if (extent == 0) return;
  }
  // Dimensions behind the last one that is cut join into one run of `tail` elements.
  std::size_t last = cut.shape.size();
  std::int64_t tail = 1;
  while (last > 0 && local.local_shape[last - 1] == cut.shape[last - 1]) tail *= cut.shape[--last];
  if (last == 0) return segments.push_back({param, 0, tail, 0});
  std::int64_t off = 0;
  std::vector<std::int64_t> at(last - 1, 0);  // odometer over the local indices of the outer dimensions
  const auto global_index = [&](std::size_t d) {
    std::int64_t position = at[d];
    for (const Range& run : local.index[d]) {
      if (position < run.numel()) return run.lo + position;
      position -= run.numel();
    }
    return cut.shape[d];
  };
  while (true) {
    std::int64_t base = 0;
    for (std::size_t d = 0; d + 1 < last; ++d) base = base * cut.shape[d] + global_index(d);
    base *= cut.shape[last - 1];
    for (const Range& run : local.index[last - 1]) {
      segments.push_back({param, (base + run.lo) * tail, (base + run.hi) * tail, off});
      off += run.numel() * tail;
    }
    std::size_t d = at.size();
    while (d > 0 && ++at[d - 1] == local.local_shape[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

std::int64_t mesh_replicas(const MeshCut& cut) {
  std::int64_t replicas = 1;
  for (std::size_t axis = 0; axis < cut.options.mesh.size(); ++axis) {
    if (!cut.options.placements[axis].cuts()) replicas = multiply_sizes(replicas, cut.options.mesh[axis]);
  }
  return replicas;
}

std::int64_t mesh_ranks(const MeshCut& cut) {
  std::int64_t ranks = 1;
  for (const std::int32_t size : cut.options.mesh) ranks = multiply_sizes(ranks, size);
  return ranks;
}

std::int64_t mesh_longest(const MeshCut& cut) {
  // Under strided cuts the length is not monotone in the extent, so every length that occurs is carried
  // along.
  std::vector<std::set<std::int64_t>> lengths;
  for (const std::int64_t extent : cut.shape) lengths.push_back({extent});
  for (const std::int32_t axis : cut.options.order) {
    const Placement& placement = cut.options.placements[axis];
    if (!placement.cuts()) continue;
    const std::int64_t parts = cut.options.mesh[axis];
    std::set<std::int64_t> next;
    for (const std::int64_t extent : lengths[placement.dim]) {
      const std::int64_t piece = div_ceil(extent, factor_of(placement));
      if (extent > 0 && piece == extent) {  // one piece: whole chunks, one partial one, and nothing
        const std::int64_t partial = extent / div_ceil(extent, parts);
        next.insert({part_length(extent, parts, 0), part_length(extent, parts, std::min(partial, parts - 1)),
                     part_length(extent, parts, parts - 1)});
        continue;
      }
      for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t length = strided_length(extent, piece, parts, part);
        next.insert(length);
        if (length == 0) break;  // later parts are empty too
      }
    }
    lengths[placement.dim] = std::move(next);
  }
  std::int64_t longest = 1;
  for (const auto& extents : lengths) longest = multiply_sizes(longest, *extents.rbegin());
  return longest;
}

MeshHolder mesh_holder(const MeshCut& cut, std::int64_t element, std::int64_t replica) {
  const std::size_t dims = cut.shape.size();
  std::vector<Along> along(dims);
  std::int64_t rest = element;
  for (std::size_t d = dims; d-- > 0;) {
    along[d] = {rest % cut.shape[d], cut.shape[d], cut.shape[d] - rest % cut.shape[d]};
    rest /= cut.shape[d];
  }
  SC_ASSERT(rest == 0 && element >= 0, "an element outside its tensor");
  const DtensorOptions& options = cut.options;
  std::vector<std::int64_t> coordinate(options.mesh.size());
  for (const std::int32_t axis : options.order) {
    const Placement& placement = options.placements[axis];
    if (placement.cuts()) {
      coordinate[axis] = narrow(along[placement.dim], factor_of(placement), options.mesh[axis]);
    }
  }
  for (std::size_t axis = options.mesh.size(); axis-- > 0;) {
    if (options.placements[axis].cuts()) continue;
    coordinate[axis] = replica % options.mesh[axis];
    replica /= options.mesh[axis];
  }
  std::int64_t rank = 0;
  for (std::size_t axis = 0; axis < coordinate.size(); ++axis) {
    rank = rank * options.mesh[axis] + coordinate[axis];
  }
  MeshHolder holder{Rank{static_cast<std::int32_t>(rank)}};
  std::int64_t tail = 1;
  std::size_t last = dims;
  while (last > 0 && along[last - 1].extent == cut.shape[last - 1]) tail *= cut.shape[--last];
  for (std::size_t d = 0; d < dims; ++d) holder.off = holder.off * along[d].extent + along[d].position;
  holder.run = last == 0 ? tail - element : along[last - 1].run * tail - element % tail;
  return holder;
}

}  // namespace shardcheck::layout
