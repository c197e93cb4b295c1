// Trace events: a timeline as the JSON that Perfetto and chrome://tracing open. A process a rank, a thread a
// stream, an arrow for every wait that has something to wait for, and for each race a red arrow from op to
// op.
#pragma once

#include <span>
#include <string>

#include "core/plan/races.h"
#include "sim/cost/timeline.h"

namespace shardcheck {

/// The whole file. Times are microseconds of the model. Ranks beyond `kMostRanksInTrace` are left out.
inline constexpr std::int32_t kMostRanksInTrace = 64;
std::string trace_events(const Plan& plan, std::span<const cost::Span> timeline, std::span<const Race> races);

}  // namespace shardcheck
