// zero3-flat (shard-layouts 2.13): DeepSpeed ZeRO-3. Every parameter is cut by itself into W parts of ceil(N
// / W) elements; the parts of a sub-group lie one after another in each rank's flat group, at the same offset
// everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

struct Zero3Options {
  std::int32_t world = 1;
  std::optional<std::int64_t> sub_group_size;  ///< elements of a rank's parts; none = one sub-group a group
};

/// One buffer with Cut::per_parameter for each sub-group. Throws Error when a size does not fit 64 bits.
Layout zero3_flat(std::span<const Parameter> parameters, const Zero3Options& options);

/// Elements of each rank's part of a parameter, frozen ones included; times W it is the padded size.
std::int64_t zero3_part(const Parameter& parameter, std::int32_t world);

/// What the original books about the last rank: all the padding of a parameter, and what is left of its part,
/// which can be negative (B5). The true padding is that of Buffer::rank_layout.
struct Zero3LastRank {
  std::int64_t recorded_padding = 0;
  std::int64_t lean_length = 0;
};
Zero3LastRank zero3_last_rank(const Parameter& parameter, std::int32_t world);

/// The hpZ partition of a parameter: its padded size over the ranks of a node.
struct Zero3Secondary {
  std::int64_t part = 0;  ///< elements of each rank's part, padding included
  Range real;             ///< elements of the parameter in it; empty when lo == hi
};

/// A rank of a node group.
struct NodeRank {
  std::int32_t rank = 0, group_size = 1;
};

/// Throws Error when the node group does not divide the padded size.
Zero3Secondary zero3_secondary(const Parameter& parameter, std::int32_t world, NodeRank node);

}  // namespace shardcheck::layout
