#include "core/layout/mesh.h"

#include <limits>
#include <optional>

#include "core/error.h"
#include "core/integers.h"

namespace shardcheck::layout {
namespace {

std::int32_t product(const Mesh& mesh, std::optional<AxisUse> use) {
  std::int64_t ranks = 1;
  for (const Axis& axis : mesh.axes) {
    if (axis.size < 1) {
      throw bad_input("mesh axis " + axis.name,
                      "it has " + std::to_string(axis.size) + " ranks; give it at least 1");
    }
    if (use && axis.use != *use) continue;
    ranks *= axis.size;  // both factors are below 2^31
    if (ranks > std::numeric_limits<std::int32_t>::max()) {
      throw bad_input("mesh", "its axes multiply to more than 2147483647 ranks");
    }
  }
  return static_cast<std::int32_t>(ranks);
}

}  // namespace

std::int32_t Mesh::ranks() const {
  return product(*this, std::nullopt);
}

std::int32_t Mesh::ranks_along(AxisUse use) const {
  return product(*this, use);
}

Mesh mesh_of(std::int32_t world) {
  return {{{"dp", world, AxisUse::shard}}};
}

Rank shard_of(const Mesh& mesh, Rank rank) {
  SC_ASSERT(rank.value >= 0 && rank.value < mesh.ranks(), "a rank outside the mesh");
  std::int32_t shard = 0;
  for (std::size_t axis = mesh.axes.size(); axis-- > 0;) {
    const std::int32_t size = mesh.axes[axis].size;
    if (mesh.axes[axis].use == AxisUse::shard) shard = shard * size + rank.value % size;
    rank.value /= size;
  }
  return Rank{shard};
}

}  // namespace shardcheck::layout
