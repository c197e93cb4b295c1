// Relaxations: what a layout would pad if one of its rules were dropped, and the least that any layout under
// all of its rules pads (shard-layouts 3.13: "a checker should print which constraint costs how much").
// Relaxed sizes are those of layouts that exist, computed here, not estimates. Next: shard_sizes.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/layout/mesh.h"
#include "core/layout/registry.h"

namespace shardcheck::layout {

/// A layout with what it was made from.
struct MadeLayout {
  const NamedLayout* named = nullptr;
  const Layout* layout = nullptr;
  std::span<const Parameter> parameters;
  const Configuration* configuration = nullptr;
};

/// The smallest number of padding elements that a layout can have which keeps the buckets, the equal shards,
/// the alignment, and the rows, blocks or tensors whole that this one keeps; tensors may be put in any order.
/// Never more than padding_in of its buffers.
std::int64_t least_padding(const MadeLayout& made);

/// One rule dropped.
struct Relaxation {
  std::string_view rule;     ///< what is dropped: "one zero-copy buffer"
  std::string_view asks;     ///< what it costs instead: "a copy-out per parameter after every gather"
  std::int64_t padding = 0;  ///< elements that are still padding
};

/// The rules of this layout, each dropped alone, least padding first; the cheaper to build first among
/// equals.
std::vector<Relaxation> relaxations_of(const MadeLayout& made);

}  // namespace shardcheck::layout
