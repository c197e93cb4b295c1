#include "core/plan/happens_before.h"

#include <algorithm>

namespace shardcheck {

HappensBefore::HappensBefore(const Plan& plan)
    : chains_(static_cast<std::size_t>(plan.ranks * kStreams)),
      clocks_(plan.ops.size() * chains_, -1),
      chain_of_(plan.ops.size(), 0),
      before_(plan.ops.size()) {
  std::vector<std::int32_t> last(chains_, -1);  // a chain: its last op so far
  std::vector<std::int32_t> recorded(static_cast<std::size_t>(plan.ranks * plan.events), -1);
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const Op& op = plan.ops[i];
    const auto index = static_cast<std::int32_t>(i);
    const auto* record = std::get_if<Record>(&op.action);
    const auto* wait = std::get_if<Wait>(&op.action);
    std::vector<std::int32_t>& before = before_[i];
    const auto follow = [&](std::int32_t earlier) {
      const bool is_new = earlier >= 0 && (before.empty() || before.back() != earlier);
      if (is_new) before.push_back(earlier);
    };
    for (Rank rank : plan.ranks_of(op)) {
      const auto chain =
          static_cast<std::size_t>(rank.value * kStreams + static_cast<std::int32_t>(op.stream));
      follow(last[chain]);
      last[chain] = index;
      const auto slot = [&](EventId event) -> std::int32_t& {
        return recorded[static_cast<std::size_t>(rank.value * plan.events + event.value)];
      };
      if (record != nullptr) slot(record->event) = index;
      if (wait != nullptr) follow(slot(wait->event));
    }
    std::int32_t* clock = clocks_.data() + i * chains_;
    for (const std::int32_t earlier : before) {
      const std::int32_t* other = clocks_.data() + static_cast<std::size_t>(earlier) * chains_;
      for (std::size_t c = 0; c < chains_; ++c) clock[c] = std::max(clock[c], other[c]);
    }
    for (Rank rank : plan.ranks_of(op)) {
      chain_of_[i] = rank.value * kStreams + static_cast<std::int32_t>(op.stream);
      clock[chain_of_[i]] = index;
    }
  }
}

}  // namespace shardcheck
