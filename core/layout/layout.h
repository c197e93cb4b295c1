// Layout: the common output of every shard layout (shard-layouts 1). It holds the rule, not its consequences:
// the shard and the segments of a rank are computed when asked for, so 100,000 ranks cost nothing until then.
// Invariant: buckets tile a buffer, every slot lies inside its bucket, non-empty slots are disjoint (L2, L3).
// All quantities are elements. Next: one file a layout, for example megatron_ddp.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/layout/placement.h"
#include "core/layout/range.h"
#include "core/tensor/dtype.h"
#include "core/types.h"

namespace shardcheck::layout {

/// A piece of a parameter that a rank holds, never empty.
struct Segment {
  ParamId param;
  std::int64_t p_lo = 0, p_hi = 0;  ///< range in the flattened (row-major) parameter
  std::int64_t off = 0;             ///< offset in the rank's local storage of this bucket
  bool operator==(const Segment&) const = default;
};

/// What one rank holds of one bucket.
struct RankLayout {
  std::int64_t buf_lo = 0;     ///< start of the shard in the flat buffer
  std::int64_t buf_numel = 0;  ///< elements of the shard, padding included
  std::vector<Segment> segs;   ///< ascending by off
  std::int64_t pad_numel = 0;  ///< elements of the shard that belong to no parameter
};

/// Place of a whole parameter in the flat buffer. Under Cut::per_parameter it is the place of the parameter's
/// padded shard in every rank's local buffer.
struct Slot {
  ParamId param;
  std::int64_t lo = 0, hi = 0;
  std::int32_t bucket = 0;
  std::int64_t numel = 0;   ///< real elements of the parameter
  std::int64_t pieces = 1;  ///< Cut::per_parameter: product of the extents before the cut dimension
  bool operator==(const Slot&) const = default;
};

/// Part of a buffer that one collective communicates.
struct Bucket {
  std::int64_t lo = 0, hi = 0;
  std::int64_t unpadded =
      0;  ///< what the original calls so; it may contain alignment padding (shard-layouts 2.3)
  std::int32_t first_slot = 0, slot_count = 0;  ///< its part of Buffer::slots
  bool operator==(const Bucket&) const = default;
};

/// How the buckets of a buffer are cut over its ranks.
enum class Cut : std::uint8_t {
  equal,          ///< W equal shards of every bucket (shard-layouts 2.1)
  replicated,     ///< every rank holds every bucket whole
  virtual_floor,  ///< whole on every rank; virtual shards of floor(size / W), `off` is the global offset
                  ///< (B18)
  listed,         ///< shards of unequal length, Buffer::bounds
  per_parameter,  ///< every parameter is cut by itself into W slots
  mesh,  ///< one tensor cut by several mesh axes, Buffer::mesh; a shard is the rank's part of a gather
         ///< that pads every rank to the longest
};

/// What the parameters of one buffer have in common. A layout sets the fields that it groups by.
struct BufferKey {
  DType storage = DType::bf16;  ///< u8 for quantised parameters
  DType gradient = DType::bf16;
  bool expert = false;
  bool layerwise = false;
  bool requires_grad = true;
  std::optional<std::int32_t> unit;
  std::int32_t group = 0;
  bool operator==(const BufferKey&) const = default;
};

/// One flat buffer: a group of parameters that is sharded over one process group.
struct Buffer {
  BufferKey key;
  std::int32_t world = 1;  ///< W: size of the group that shards (and reduces) this buffer
  Cut cut = Cut::equal;
  std::int64_t size = 0;        ///< all ranks together, padding included
  std::int64_t total = 0;       ///< before the last rounding, where the original keeps that number
  std::int64_t chunk = 0;       ///< C of shard-layouts 2.5 to 2.7, otherwise 0
  std::vector<Bucket> buckets;  ///< in order of their place
  std::vector<Slot> slots;      ///< ascending by (bucket, lo, hi)
  std::vector<std::int32_t>
      order;  ///< positions in `slots` in the order in which the original lists parameters
  std::vector<std::int64_t> bounds;  ///< Cut::listed: W + 1 shard boundaries
  std::optional<MeshCut> mesh;       ///< Cut::mesh: how the one tensor of this buffer is cut

  /// Elements of the flat buffer that belong to `rank` in `bucket` (virtually, under Cut::virtual_floor).
  /// Under Cut::per_parameter: the rank's part of the gathered, rank-major buffer.
  Range shard(Rank rank, std::int32_t bucket) const;

  /// Appends what `rank` holds of `bucket`, ascending by `off`. Cost: the segments found plus a binary
  /// search.
  void append_segments(Rank rank, std::int32_t bucket, std::vector<Segment>& segments) const;

  /// `shard` and `append_segments` as one value, with the padding counted.
  RankLayout rank_layout(Rank rank, std::int32_t bucket) const;

  /// The slot of that parameter, or nullptr when it is not in this buffer. Linear in the slots.
  const Slot* find(ParamId param) const;
};

/// Buffers in order of the first appearance of their keys (by group number where the optimizer numbers them).
struct Layout {
  std::vector<Buffer> buffers;
};

/// Appends what `rank` holds of one slot of a buffer with Cut::per_parameter.
void append_of_slot(const Slot& slot, Rank rank, std::vector<Segment>& segments);

/// Closes the construction of a buffer whose `slots` are in the order of the original's list and whose
/// buckets have their ranges: sorts slots, fills `order` and the buckets' parts, and asserts the invariant of
/// this file.
void finish_buffer(Buffer& buffer);

}  // namespace shardcheck::layout
