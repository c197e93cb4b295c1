// Geometry: where an owner keeps the gradient of each parameter. It turns the shard layout of the scenario's
// strategy (shard-layouts 2.2, 2.3, 2.5, 2.6, 2.10, 2.12, 2.13) into flat buffers and the buckets that one
// collective reduces.
#pragma once

#include <cstdint>
#include <vector>

#include "core/layout/layout.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// A piece of a parameter inside a bucket: elements [lo, hi) from the begin of the bucket hold those of the
/// flattened parameter from `first` on; of a distributed weight, of the rows that the rank holds.
struct Member {
  std::int32_t parameter = 0;
  std::int64_t lo = 0, hi = 0;
  std::int64_t first = 0;
};

/// What one collective reduces.
struct OwnerBucket {
  std::int32_t flat = 0;        ///< index of its flat buffer
  std::int64_t lo = 0, hi = 0;  ///< range in the flat buffer
  std::int32_t group = 1;       ///< ranks that reduce it together, inside one outer group
  bool expert = false;          ///< its parameters have coordinates (has_coordinates())
  std::int32_t shards = 1;  ///< ranks that share its distributed weights; members are each rank's own rows
  std::int32_t stage = 0;   ///< pipeline stage whose ranks have it
  std::vector<Member> members;           ///< pieces, ascending by lo
  std::vector<std::int32_t> parameters;  ///< those with a piece, each once
  std::int64_t numel() const { return hi - lo; }
  /// Elements of one rank's slice; the strategies that shard pad the bucket so that this is exact.
  std::int64_t slice() const { return numel() / group; }
};

struct Geometry {
  std::vector<std::int64_t> flat_sizes;
  std::vector<std::int32_t> flat_stages;  ///< a flat buffer: the pipeline stage that has it
  std::vector<OwnerBucket> buckets;
  std::vector<std::int32_t> bucket_of;         ///< a parameter: its bucket, -1 when frozen
  std::vector<std::vector<Member>> pieces_of;  ///< a parameter: its pieces, ascending by first; one where the
                                               ///< layout keeps parameters whole
};

Geometry geometry_of(const Scenario& scenario);

}  // namespace shardcheck
