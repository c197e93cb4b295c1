#include "core/layout/ownership.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/layout/mesh_cut.h"

namespace shardcheck::layout {
namespace {

/// Every rank holds the bucket whole.
bool is_whole_everywhere(const Buffer& buffer) {
  return buffer.cut == Cut::replicated || buffer.cut == Cut::virtual_floor;
}

/// Where a shard of equal length puts an element; `at` counts from the start of the bucket.
void place_equal(const Buffer& buffer, const Bucket& bucket, std::int64_t at, Holding& holding) {
  const std::int64_t shard = (bucket.hi - bucket.lo) / buffer.world;
  holding.rank = Rank{static_cast<std::int32_t>(at / shard)};
  holding.off = at % shard;
  holding.p_hi = std::min(holding.p_hi, holding.p_lo + shard - holding.off);
}

void place_listed(const Buffer& buffer, std::int64_t at, Holding& holding) {
  // The last boundary at or below the element; empty shards before it share that boundary and are skipped.
  const auto above = std::ranges::upper_bound(buffer.bounds, at);
  const auto index = above - buffer.bounds.begin() - 1;
  holding.rank = Rank{static_cast<std::int32_t>(index)};
  holding.off = at - buffer.bounds[index];
  holding.p_hi = std::min(holding.p_hi, holding.p_lo + *above - at);
}

void place_per_parameter(const Slot& slot, Holding& holding) {
  const std::int64_t run = (slot.hi - slot.lo) / slot.pieces;
  const std::int64_t stride = slot.numel / slot.pieces;
  const std::int64_t piece = holding.p_lo / stride;
  const std::int64_t inside = holding.p_lo % stride;
  const std::int64_t rank = inside / run;
  holding.rank = Rank{static_cast<std::int32_t>(rank)};
  holding.off = slot.lo + piece * run + inside - rank * run;
  if (run < stride) holding.p_hi = piece * stride + std::min(stride, (rank + 1) * run);
}

}  // namespace

Ownership::Ownership(Layout layout, std::span<const Parameter> parameters)
    : layout_(std::move(layout)), places_(parameters.size()) {
  for (std::size_t b = 0; b < layout_.buffers.size(); ++b) {
    const Buffer& buffer = layout_.buffers[b];
    for (std::size_t s = 0; s < buffer.slots.size(); ++s) {
      places_[buffer.slots[s].param.value] = {static_cast<std::int32_t>(b), static_cast<std::int32_t>(s)};
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].tied_to) places_[i] = places_[parameters[i].tied_to->value];
  }
}

std::int64_t Ownership::replicas(ParamId param) const {
  const Buffer& buffer = buffer_of(param);
  if (buffer.cut == Cut::mesh) return mesh_replicas(*buffer.mesh);
  return is_whole_everywhere(buffer) ? buffer.world : 1;
}

Holding Ownership::at(ParamId param, std::int64_t element, std::int64_t replica) const {
  SC_ASSERT(holds(param), "a parameter that is in no buffer has no holder");
  const Buffer& buffer = buffer_of(param);
  const Slot& slot = slot_of(param);
  SC_ASSERT(element >= 0 && element < slot.numel, "an element outside its parameter");
  SC_ASSERT(replica >= 0 && replica < replicas(param), "a replica that does not exist");
  Holding holding{places_[param.value].buffer, slot.bucket, Rank{0}, element, slot.numel, 0};
  const Bucket& bucket = buffer.buckets[slot.bucket];
  const std::int64_t at = slot.lo + element - bucket.lo;
  switch (buffer.cut) {
    case Cut::equal: place_equal(buffer, bucket, at, holding); break;
    case Cut::listed: place_listed(buffer, slot.lo + element, holding); break;
    case Cut::per_parameter: place_per_parameter(slot, holding); break;
    case Cut::mesh: {
      const MeshHolder holder = mesh_holder(*buffer.mesh, element, replica);
      holding.rank = holder.rank;
      holding.off = holder.off;
      holding.p_hi = element + holder.run;
      break;
    }
    case Cut::replicated:
    case Cut::virtual_floor:
      holding.rank = Rank{static_cast<std::int32_t>(replica)};
      holding.off = at;
      break;
  }
  return holding;
}

void Ownership::append_held(ParamId param, Rank rank, std::vector<Segment>& segments) const {
  SC_ASSERT(holds(param), "a parameter that is in no buffer is held by nobody");
  const Buffer& buffer = buffer_of(param);
  const Slot& slot = slot_of(param);
  if (buffer.cut == Cut::per_parameter) return append_of_slot(slot, rank, segments);
  if (buffer.cut == Cut::mesh) return append_mesh_segments(*buffer.mesh, slot.param, rank, segments);
  const Bucket& bucket = buffer.buckets[slot.bucket];
  const bool whole = is_whole_everywhere(buffer);
  const Range shard = whole ? Range{bucket.lo, bucket.hi} : buffer.shard(rank, slot.bucket);
  const std::int64_t lo = std::max(slot.lo, shard.lo);
  const std::int64_t hi = std::min(slot.hi, shard.hi);
  if (lo < hi) segments.push_back({slot.param, lo - slot.lo, hi - slot.lo, lo - shard.lo});
}

}  // namespace shardcheck::layout
