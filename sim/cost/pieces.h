// Pieces: what the collectives of a system move, read off its shard layout for one rank: how many elements,
// how many of them are the rank's own, which tensors lie in them. Everything that step.h plans is a sum over
// pieces, so a layout's padding is in every figure. Next: step.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"
#include "sim/cost/system.h"

namespace shardcheck::cost {

struct Piece {
  std::vector<ParamId> tensors;  ///< in the order of the buffer
  std::int64_t whole = 0;        ///< elements, padding included
  std::int64_t own = 0;          ///< of the rank's shard, padding included; all where nothing is sharded
  std::int64_t held = 0;         ///< of these, elements of tensors
  bool expert = false;           ///< reduced over the expert's group
};

struct PieceOptions {
  Sharded sharded = Sharded::nothing;
  Grain grain = Grain::bucket;
  std::int64_t run = 500'000'000;  ///< elements at most of a Grain::run, unless one tensor is larger
};

/// `ranks`: of each buffer, the rank's number in its group. Time: linear in the slots.
std::vector<Piece> pieces_of(const layout::Layout& layout, std::span<const layout::Parameter> parameters,
                             std::span<const Rank> ranks, const PieceOptions& options);

}  // namespace shardcheck::cost
