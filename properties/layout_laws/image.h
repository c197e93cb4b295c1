// The gathered image: where the rule of a buffer puts element e of a tensor after an all-gather that lays the
// shards end to end (shard-layouts L10, 2.10). It is computed from slots alone, so segments can be judged by
// it.
#pragma once

#include <cstdint>

#include "core/layout/layout.h"

namespace shardcheck::laws {

/// Place in the buffer; not for Cut::mesh, whose gather is undone axis by axis.
inline std::int64_t image_place(const layout::Buffer& buffer, const layout::Slot& slot,
                                std::int64_t element) {
  if (buffer.cut != layout::Cut::per_parameter) return slot.lo + element;
  const std::int64_t run = (slot.hi - slot.lo) / slot.pieces;  // of a rank, in each piece
  const std::int64_t stride = slot.numel / slot.pieces;
  const std::int64_t piece = element / stride, inside = element % stride;
  return inside / run * (buffer.size / buffer.world) + slot.lo + piece * run + inside % run;
}

}  // namespace shardcheck::laws
