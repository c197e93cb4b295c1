// The sequences of collectives of a trace: all ranks of a group must issue the same ones in the same order
// (W30), and every one must complete (W21). The first difference is shown rank by rank.
#pragma once

#include <vector>

#include "core/contract/finding.h"
#include "properties/audit/trace.h"

namespace shardcheck {

/// What the ranks of one group issued in it, side by side.
struct GroupSchedule {
  std::vector<std::int32_t> group;
  std::vector<std::int32_t> ranks;                             ///< of the trace that are in the group
  std::vector<std::vector<const CollectiveEvent*>> sequences;  ///< one for each of `ranks`
  std::ptrdiff_t first_difference = -1;                        ///< position in them; -1: they agree
};

/// By group. The trace must outlive them.
std::vector<GroupSchedule> schedules_of(const AuditTrace& trace);

/// At most one finding a group, and one for a run that never finished although the sequences agree. The
/// history of a finding says what each rank issued or waits in.
std::vector<Finding> judge_schedule(const AuditTrace& trace);

/// Collectives of all ranks together.
std::int64_t collectives_of(const AuditTrace& trace);

}  // namespace shardcheck
