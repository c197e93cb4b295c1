// Placement: what the axes of a device mesh do to one tensor, and in which order they cut it (shard-layouts
// 1, 2.11). The order is explicit, because relabelling axes without moving data is forbidden (L19). Next:
// mesh_cut.h asks who holds what under it.
#pragma once

#include <cstdint>
#include <vector>

namespace shardcheck::layout {

/// What one mesh axis does to a tensor.
struct Placement {
  enum class Kind : std::uint8_t { replicate, partial, shard, strided_shard };
  Kind kind = Kind::replicate;
  std::int32_t dim = 0;           ///< of shard and strided_shard
  std::int64_t split_factor = 1;  ///< of strided_shard: pieces that another axis has already cut
  bool cuts() const { return kind >= Kind::shard; }
  bool operator==(const Placement&) const = default;
};

struct DtensorOptions {
  std::vector<std::int32_t> mesh;     ///< axis sizes, outermost first; a rank is its row-major number
  std::vector<Placement> placements;  ///< one an axis
  std::vector<std::int32_t> order;    ///< axes in the order in which they cut, a permutation
  bool operator==(const DtensorOptions&) const = default;
};

/// One tensor and what the mesh does to it.
struct MeshCut {
  std::vector<std::int64_t> shape;
  DtensorOptions options;
  bool operator==(const MeshCut&) const = default;
};

}  // namespace shardcheck::layout
