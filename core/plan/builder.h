// PlanBuilder: appends ops to a plan. A planner says action, reason, stream and ranks once, then one operand
// after the other, each the same on all ranks or given rank by rank.
#pragma once

#include <span>
#include <string>

#include "core/assert.h"
#include "core/plan/plan.h"

namespace shardcheck {

class PlanBuilder {
 public:
  explicit PlanBuilder(Plan& plan) : plan_(plan) {}

  BufferId buffer(std::string name, BufferRole role, DType dtype, std::int64_t numel) {
    plan_.buffers.push_back({std::move(name), role, dtype, numel});
    return BufferId{static_cast<std::int32_t>(plan_.buffers.size()) - 1};
  }
  /// The same in page-locked memory of the host.
  BufferId buffer_on_host(std::string name, BufferRole role, DType dtype, std::int64_t numel) {
    const BufferId id = buffer(std::move(name), role, dtype, numel);
    plan_.buffers.back().on_host = true;
    return id;
  }
  View whole(BufferId id) const { return {id, 0, plan_.buffer(id).numel}; }
  EventId event() { return EventId{plan_.events++}; }

  /// Begins an op on `ranks`. Equal consecutive rank lists share their storage.
  PlanBuilder& op(Action action, Why why, Stream stream, std::span<const Rank> ranks) {
    Op op{.action = action, .why = why, .stream = stream, .ranks = static_cast<std::int32_t>(ranks.size())};
    op.first_rank = place(ranks);
    op.first_view = static_cast<std::int32_t>(plan_.view_arena.size());
    plan_.ops.push_back(op);
    return *this;
  }
  /// The next operand, the same view on every rank.
  PlanBuilder& on(View view) {
    plan_.view_arena.insert(plan_.view_arena.end(), static_cast<std::size_t>(plan_.ops.back().ranks), view);
    ++plan_.ops.back().operands;
    return *this;
  }
  /// The next operand, `view_of(position in the list of ranks)`.
  template <class ViewOf>
  PlanBuilder& on_each(ViewOf view_of) {
    const auto ranks = plan_.ops.back().ranks;
    for (std::int32_t i = 0; i < ranks; ++i) plan_.view_arena.push_back(view_of(i));
    ++plan_.ops.back().operands;
    return *this;
  }

 private:
  std::int32_t place(std::span<const Rank> ranks);

  Plan& plan_;
  std::int32_t last_first_ = 0, last_count_ = 0;
};

}  // namespace shardcheck
