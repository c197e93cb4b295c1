// vescale-ragged (shard-layouts 2.14): RaggedShard. The flattened tensor is cut into W contiguous pieces
// whose sizes are proportional to an integer vector of units; zero units make empty ranks. Next:
// ragged_planner.h chooses the pieces for a whole unit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

struct RaggedOptions {
  std::int32_t dims = 1;            ///< k: the cut is along dimensions 0 .. k - 1, flattened
  std::vector<std::int64_t> units;  ///< one a rank, at least 0
};

/// One tensor in a buffer with Cut::listed. Throws Rejected (units_do_not_divide_numel,
/// local_numel_not_a_multiple_of_granularity), or Error when the units are unusable.
Buffer vescale_ragged(const Parameter& parameter, const RaggedOptions& options);

/// Shape of a rank's piece: (elements / product of the uncut extents, uncut extents...).
std::vector<std::int64_t> ragged_local_shape(const Parameter& parameter, const RaggedOptions& options,
                                             Rank rank);

/// Units before and after a redistribution.
struct RaggedMove {
  std::vector<std::int64_t> from, to;
};

/// Elements that each source rank (rows) sends to each target rank. Throws as vescale_ragged.
std::vector<std::vector<std::int64_t>> ragged_send_matrix(const Parameter& parameter, const RaggedMove& move);

}  // namespace shardcheck::layout
