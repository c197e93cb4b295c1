#include "core/layout/dtensor_nd.h"

#include <algorithm>
#include <string>

#include "core/layout/rejection.h"
#include "core/layout/sizes.h"

namespace shardcheck::layout {
namespace {

using Runs = std::vector<Range>;

std::int64_t numel_of(const Runs& runs) {
  std::int64_t numel = 0;
  for (const Range& run : runs) numel += run.numel();
  return numel;
}

/// Appends a run, joining it to the one that it continues.
void append(Runs& runs, Range run) {
  if (run.numel() == 0) return;
  if (!runs.empty() && runs.back().hi == run.lo) {
    runs.back().hi = run.hi;
  } else {
    runs.push_back(run);
  }
}

/// Appends the global indices at the local positions of `range`.
void append_positions(Runs& target, const Runs& runs, Range range) {
  std::int64_t position = 0;
  for (const Range& run : runs) {
    const std::int64_t lo = std::max(range.lo, position);
    const std::int64_t hi = std::min(range.hi, position + run.numel());
    if (lo < hi) append(target, {run.lo + lo - position, run.lo + hi - position});
    position += run.numel();
  }
}

/// ceil-chunk (shard-layouts 2.1): piece `i` of `range` in `pieces`.
Range ceil_chunk(Range range, std::int64_t pieces, std::int64_t i) {
  const std::int64_t chunk = div_ceil(range.numel(), pieces);
  return {std::min(range.hi, range.lo + i * chunk), std::min(range.hi, range.lo + (i + 1) * chunk)};
}

/// Part `part` of `parts` of every one of `split_factor` pieces, concatenated; a plain shard has one piece.
Runs cut(const Runs& runs, std::int64_t split_factor, std::int64_t parts, std::int64_t part) {
  const Range all{0, numel_of(runs)};
  Runs result;
  for (std::int64_t piece = 0; piece < split_factor; ++piece) {
    const Range whole = ceil_chunk(all, split_factor, piece);
    if (whole.numel() == 0) break;
    append_positions(result, runs, ceil_chunk(whole, parts, part));
  }
  return result;
}

void check(std::span<const std::int64_t> shape, const DtensorOptions& options) {
  const std::size_t axes = options.mesh.size();
  if (options.placements.size() != axes || options.order.size() != axes) {
    throw bad_input("placements", "give one placement and one place in the order for each of the " +
                                      std::to_string(axes) + " mesh axes");
  }
  std::vector<bool> seen(axes);
  for (const std::int32_t axis : options.order) {
    if (axis < 0 || axis >= static_cast<std::int32_t>(axes) || seen[axis]) {
      throw bad_input("order", "it must name each mesh axis once; " + std::to_string(axis) + " does not fit");
    }
    seen[axis] = true;
  }
  constexpr std::int64_t kLongest = std::int64_t{1} << 62;  // so that parts * ceil(extent / parts) fits
  for (const std::int64_t extent : shape) {
    if (extent < 0 || extent > kLongest) size_overflows();
  }
  for (const Placement& placement : options.placements) {
    if (placement.kind < Placement::Kind::shard) continue;
    if (placement.dim < 0 || placement.dim >= static_cast<std::int32_t>(shape.size())) {
      throw Rejected(Reason::shard_dim_out_of_range, "of the placement",
                     "dimension " + std::to_string(placement.dim) + " of a tensor with " +
                         std::to_string(shape.size()) + " dimensions");
    }
    if (placement.split_factor < 1) throw bad_input("placements", "a split factor must be at least 1");
  }
}

}  // namespace

std::vector<std::int32_t> mesh_coordinate(std::span<const std::int32_t> mesh, Rank rank) {
  std::vector<std::int32_t> coordinate(mesh.size());
  for (std::size_t axis = mesh.size(); axis-- > 0;) {
    coordinate[axis] = rank.value % mesh[axis];
    rank.value /= mesh[axis];
  }
  return coordinate;
}

DtensorLocal dtensor_local(std::span<const std::int64_t> shape, const DtensorOptions& options, Rank rank) {
  check(shape, options);
  const std::vector<std::int32_t> coordinate = mesh_coordinate(options.mesh, rank);
  DtensorLocal local;
  for (const std::int64_t extent : shape) {
    local.index.emplace_back();
    append(local.index.back(), {0, extent});
  }
  for (const std::int32_t axis : options.order) {
    const Placement& placement = options.placements[axis];
    if (placement.kind < Placement::Kind::shard) continue;
    Runs& runs = local.index[placement.dim];
    const std::int64_t factor = placement.kind == Placement::Kind::shard ? 1 : placement.split_factor;
    runs = cut(runs, factor, options.mesh[axis], coordinate[axis]);
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    local.local_shape.push_back(numel_of(local.index[d]));
    local.global_offset.push_back(local.index[d].empty() ? shape[d] : local.index[d].front().lo);
  }
  return local;
}

std::vector<std::int64_t> upstream_strided_unshard(const StridedCut& strided) {
  Runs whole;
  append(whole, {0, strided.extent});
  std::vector<std::vector<std::int64_t>> shards;
  std::size_t longest = 0;
  for (std::int32_t rank = 0; rank < strided.world; ++rank) {
    auto& shard = shards.emplace_back();
    for (const Range& run : cut(whole, strided.split_factor, strided.world, rank)) {
      for (std::int64_t index = run.lo; index < run.hi; ++index) shard.push_back(index);
    }
    longest = std::max(longest, shard.size());
  }
  // Padded shards end to end, cut to the extent: right only when every padding is a suffix of the whole.
  std::vector<std::int64_t> gathered;
  std::vector<std::int64_t> permutation;
  for (const auto& shard : shards) {
    permutation.insert(permutation.end(), shard.begin(), shard.end());
    gathered.insert(gathered.end(), shard.begin(), shard.end());
    gathered.resize(gathered.size() + longest - shard.size(), -1);
  }
  std::vector<std::int64_t> result(static_cast<std::size_t>(strided.extent));
  for (std::size_t i = 0; i < permutation.size(); ++i) result[permutation[i]] = gathered[i];
  return result;
}

}  // namespace shardcheck::layout
