#include "core/contract/clocks.h"

#include <algorithm>

namespace shardcheck {

Clocks::Clocks(const Plan& plan) : events_(plan.events) {
  Clock never;
  never.fill(-1);
  clocks_.assign(static_cast<std::size_t>(plan.ranks), {never, never});
  event_clocks_.assign(static_cast<std::size_t>(plan.ranks) * static_cast<std::size_t>(plan.events), never);
}

void Clocks::record(Rank rank, Stream stream, EventId event, std::int32_t position) {
  Clock seen = clocks_[static_cast<std::size_t>(rank.value)][static_cast<std::size_t>(stream)];
  seen[static_cast<std::size_t>(stream)] = position;
  event_clocks_[slot(rank, event)] = seen;
}

void Clocks::wait(Rank rank, Stream stream, EventId event) {
  Clock& clock = clocks_[static_cast<std::size_t>(rank.value)][static_cast<std::size_t>(stream)];
  const Clock& seen = event_clocks_[slot(rank, event)];
  for (std::size_t s = 0; s < kStreams; ++s) clock[s] = std::max(clock[s], seen[s]);
}

}  // namespace shardcheck
