// Mesh: the device mesh that a layout is asked for: named axes, outermost (slowest network) first. A rank is
// the row-major number of its coordinate. What an axis is used for is said, never guessed from its place:
// reading (shard 4, cp 2) as (replicate 4, shard 2) is bug B25. Next: registry.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/types.h"

namespace shardcheck::layout {

/// What the ranks along an axis share.
enum class AxisUse : std::uint8_t {
  shard,      ///< they cut every buffer
  replicate,  ///< they hold copies (the outer axis of HSDP)
  tensor,     ///< tensor parallelism: dtensor-nd cuts along it; other layouts are given TP-local shapes
};

struct Axis {
  std::string name;  ///< "dp"
  std::int32_t size = 1;
  AxisUse use = AxisUse::shard;
  bool operator==(const Axis&) const = default;
};

struct Mesh {
  std::vector<Axis> axes;

  /// Ranks of the mesh. Throws Error when an axis is smaller than 1 or the product does not fit 32 bits.
  std::int32_t ranks() const;
  /// Product of the sizes of the axes with that use.
  std::int32_t ranks_along(AxisUse use) const;
  bool operator==(const Mesh&) const = default;
};

/// One axis "dp" that shards.
Mesh mesh_of(std::int32_t world);

/// The shard of flat buffers that a rank of the mesh holds: the mixed-radix number of its coordinates on the
/// sharding axes, innermost axis most significant, so HFSDP on (outer, inner) gives i * O + o (L19, B26).
Rank shard_of(const Mesh& mesh, Rank rank);

}  // namespace shardcheck::layout
