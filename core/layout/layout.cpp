#include "core/layout/layout.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "core/assert.h"
#include "core/integers.h"
#include "core/layout/mesh_cut.h"

namespace shardcheck::layout {
namespace {

void append_flat(std::span<const Slot> slots, Range shard, std::int64_t origin,
                 std::vector<Segment>& segments) {
  // Slots are disjoint and ascending, so the first one that ends behind the shard's start is found by
  // bisection; an empty slot ends where it starts and cannot hide a later one.
  auto slot =
      std::partition_point(slots.begin(), slots.end(), [&](const Slot& s) { return s.hi <= shard.lo; });
  for (; slot != slots.end() && slot->lo < shard.hi; ++slot) {
    const std::int64_t lo = std::max(slot->lo, shard.lo);
    const std::int64_t hi = std::min(slot->hi, shard.hi);
    if (lo < hi) segments.push_back({slot->param, lo - slot->lo, hi - slot->lo, lo - origin});
  }
}

}  // namespace

void append_of_slot(const Slot& slot, Rank rank, std::vector<Segment>& segments) {
  const std::int64_t run = (slot.hi - slot.lo) / slot.pieces;
  const std::int64_t stride = slot.numel / slot.pieces;
  const std::int64_t first = std::min(stride, rank.value * run);
  const std::int64_t last = std::min(stride, first + run);
  if (first == last) return;
  if (first == 0 && last == stride) {  // one rank holds it all, and the pieces join
    segments.push_back({slot.param, 0, slot.numel, slot.lo});
    return;
  }
  for (std::int64_t piece = 0; piece < slot.pieces; ++piece) {
    const std::int64_t base = piece * stride;
    segments.push_back({slot.param, base + first, base + last, slot.lo + piece * run});
  }
}

Range Buffer::shard(Rank rank, std::int32_t bucket) const {
  SC_ASSERT(rank.value >= 0 && rank.value < world, "a rank outside the group of its buffer");
  const Bucket& b = buckets[bucket];
  switch (cut) {
    case Cut::replicated: return {b.lo, b.hi};
    case Cut::listed: return {bounds[rank.value], bounds[rank.value + 1]};
    default: break;
  }
  const std::int64_t numel = (b.hi - b.lo) / world;
  return {b.lo + rank.value * numel, b.lo + (rank.value + 1) * numel};
}

void Buffer::append_segments(Rank rank, std::int32_t bucket, std::vector<Segment>& segments) const {
  const Bucket& b = buckets[bucket];
  const std::span<const Slot> part(slots.data() + b.first_slot, static_cast<std::size_t>(b.slot_count));
  if (cut == Cut::per_parameter) {
    for (const Slot& slot : part) append_of_slot(slot, rank, segments);
    return;
  }
  if (cut == Cut::mesh) return append_mesh_segments(*mesh, part.front().param, rank, segments);
  const Range range = shard(rank, bucket);
  append_flat(part, range, cut == Cut::virtual_floor ? 0 : range.lo, segments);
}

RankLayout Buffer::rank_layout(Rank rank, std::int32_t bucket) const {
  const Range range = shard(rank, bucket);
  RankLayout result{range.lo, range.numel(), {}, range.numel()};
  append_segments(rank, bucket, result.segs);
  for (const Segment& segment : result.segs) result.pad_numel -= segment.p_hi - segment.p_lo;
  return result;
}

const Slot* Buffer::find(ParamId param) const {
  const auto found = std::ranges::find(slots, param, &Slot::param);
  return found == slots.end() ? nullptr : &*found;
}

void finish_buffer(Buffer& buffer) {
  const auto before = [](const Slot& a, const Slot& b) {
    return a.bucket != b.bucket ? a.bucket < b.bucket : a.lo != b.lo ? a.lo < b.lo : a.hi < b.hi;
  };
  std::vector<std::int32_t> sorted(buffer.slots.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  if (std::is_sorted(buffer.slots.begin(), buffer.slots.end(), before)) {
    buffer.order = sorted;
  } else {
    std::ranges::stable_sort(
        sorted, [&](std::int32_t a, std::int32_t b) { return before(buffer.slots[a], buffer.slots[b]); });
    std::vector<Slot> slots;
    slots.reserve(sorted.size());
    buffer.order.resize(sorted.size());
    for (const std::int32_t listed : sorted) {
      buffer.order[listed] = static_cast<std::int32_t>(slots.size());
      slots.push_back(buffer.slots[listed]);
    }
    buffer.slots = std::move(slots);
  }
  for (std::size_t i = 0; i < buffer.slots.size(); ++i) {
    const Slot& slot = buffer.slots[i];
    Bucket& bucket = buffer.buckets[slot.bucket];
    if (bucket.slot_count++ == 0) bucket.first_slot = static_cast<std::int32_t>(i);
    SC_ASSERT(slot.lo >= bucket.lo && slot.hi <= bucket.hi, "L3: a parameter outside its bucket");
    const bool same_bucket = bucket.slot_count > 1;
    SC_ASSERT(!same_bucket || buffer.slots[i - 1].hi <= slot.lo, "L2: two parameters overlap");
  }
}

}  // namespace shardcheck::layout
