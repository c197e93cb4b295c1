#include "core/plan/hostile_allocator.h"

#include <algorithm>
#include <numeric>

#include "core/plan/happens_before.h"

namespace shardcheck {
namespace {

/// Which slot lies behind each of the plan's, and who returned it last.
class Pool {
 public:
  explicit Pool(const Plan& plan)
      : plan_(plan), order_(plan), lent_as_(plan.buffers.size()), slots_(plan.buffers.size()) {
    std::iota(lent_as_.begin(), lent_as_.end(), 0);
  }

  void allocate(BufferId slot_of_plan) { slot(slot_of_plan.value).is_there = true; }
  /// The slot that a planned one stands for now; any other buffer stands for itself.
  BufferId behind(BufferId planned) const { return BufferId{lent_as_[index(planned)]}; }

  /// False when no slot is free for the op that opens a lease of `planned`.
  bool open(BufferId planned, OpIndex op) {
    std::int32_t best = -1;
    for (std::int32_t b = 0; b < static_cast<std::int32_t>(slots_.size()); ++b) {
      const bool fits = is_like(BufferId{b}, planned) && slot(b).is_there && !slot(b).is_open;
      const bool is_ours = fits && (slot(b).closed.value < 0 || order_.orders(slot(b).closed, op));
      if (is_ours && (best < 0 || slot(b).closed > slot(best).closed)) best = b;
    }
    if (best < 0) return false;
    lent_as_[index(planned)] = best;
    slot(best).is_open = true;
    return true;
  }
  void close(BufferId planned, OpIndex op) {
    Slot& closed = slot(lent_as_[index(planned)]);
    closed.is_open = false;
    closed.closed = op;
  }

 private:
  struct Slot {
    bool is_there = false, is_open = false;
    OpIndex closed{-1};  ///< -1: never lent
  };
  static std::size_t index(BufferId id) { return static_cast<std::size_t>(id.value); }
  Slot& slot(std::int32_t b) { return slots_[static_cast<std::size_t>(b)]; }
  bool is_like(BufferId a, BufferId b) const {
    const Buffer &one = plan_.buffer(a), &other = plan_.buffer(b);
    return one.role == BufferRole::lease_slot && one.dtype == other.dtype && one.numel == other.numel;
  }

  const Plan& plan_;
  HappensBefore order_;
  std::vector<std::int32_t> lent_as_;  // a buffer of the plan: the one behind it
  std::vector<Slot> slots_;            // a buffer
};

BufferId planned(const Plan& plan, const Op& op) {
  return plan.operand(op, 0)[0].buffer;
}

}  // namespace

std::optional<Plan> with_hostile_allocator(const Plan& plan) {
  Plan moved = plan;
  moved.view_arena.clear();
  Pool pool(plan);
  bool is_other = false;
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const Op& op = plan.ops[i];
    const OpIndex at{static_cast<std::int32_t>(i)};
    const bool allocates = std::holds_alternative<Allocate>(op.action);
    const bool opens = std::holds_alternative<OpenLease>(op.action);
    if (opens && !pool.open(planned(plan, op), at)) return std::nullopt;
    if (allocates) pool.allocate(planned(plan, op));
    if (std::holds_alternative<CloseLease>(op.action)) pool.close(planned(plan, op), at);
    moved.ops[i].first_view = static_cast<std::int32_t>(moved.view_arena.size());
    for (std::int32_t v = 0; v < op.operands * op.ranks; ++v) {
      View view = plan.view_arena[static_cast<std::size_t>(op.first_view + v)];
      const BufferId behind = allocates || view.buffer.value < 0 ? view.buffer : pool.behind(view.buffer);
      is_other |= behind != view.buffer;
      view.buffer = behind;
      moved.view_arena.push_back(view);
    }
  }
  if (!is_other) return std::nullopt;
  return moved;
}

}  // namespace shardcheck
