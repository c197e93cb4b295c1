#include "core/plan/happens_before.h"

#include <algorithm>
#include <utility>

namespace shardcheck {
namespace {

/// Ops at the begin of the plan that only set up.
std::size_t setup_of(const Plan& plan) {
  std::size_t end = 0;
  while (end < plan.ops.size() && plan.ops[end].why.purpose == Purpose::setup) ++end;
  return end;
}

}  // namespace

HappensBefore::HappensBefore(const Plan& plan)
    : chains_(static_cast<std::size_t>(plan.ranks * kStreams)),
      clocks_(plan.ops.size() * chains_, -1),
      chain_of_(plan.ops.size(), 0),
      before_(plan.ops.size()) {
  std::vector<std::int32_t> last(chains_, -1);                   // a chain: its last op so far
  std::vector<std::int32_t> allocated(plan.buffers.size(), -1);  // a buffer, after setup: by which op
  const std::size_t setup = setup_of(plan);
  std::vector<std::int32_t> setup_ends;  // of all chains
  std::vector<std::int32_t> recorded(static_cast<std::size_t>(plan.ranks * plan.events), -1);
  bool has_late = false;
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
    if (i == setup) setup_ends = last;
    for (Rank rank : plan.ranks_of(op)) {
      const auto chain =
          static_cast<std::size_t>(rank.value * kStreams + static_cast<std::int32_t>(op.stream));
      follow(last[chain]);
      if (i >= setup && std::cmp_less(last[chain], setup)) std::ranges::for_each(setup_ends, follow);
      last[chain] = index;
      const auto slot = [&](EventId event) -> std::int32_t& {
        return recorded[static_cast<std::size_t>(rank.value * plan.events + event.value)];
      };
      if (record != nullptr) slot(record->event) = index;
      if (wait != nullptr) follow(slot(wait->event));
    }
    if (i >= setup && std::holds_alternative<Allocate>(op.action)) {
      allocated[static_cast<std::size_t>(plan.operand(op, 0)[0].buffer.value)] = index;
      has_late = true;
    }
    for (int operand = 0; has_late && operand < op.operands; ++operand) {
      for (const View& view : plan.operand(op, operand)) {
        const bool is_known = view.buffer.value >= 0;
        if (is_known && allocated[static_cast<std::size_t>(view.buffer.value)] != index)
          follow(allocated[static_cast<std::size_t>(view.buffer.value)]);
      }
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
