// PlanEdit: the few ways in which a fault changes a plan: leave an op out, put one in, give one other views.
// Indices are those of the original plan until commit().
#pragma once

#include <functional>
#include <vector>

#include "sim/planner/planned.h"

namespace shardcheck {

class PlanEdit {
 public:
  explicit PlanEdit(Planned& planned)
      : planned_(planned), plan_(planned.plan), erased_(planned.plan.ops.size()) {}

  const Plan& plan() const { return plan_; }
  std::int32_t size() const { return static_cast<std::int32_t>(plan_.ops.size()); }
  Op& op(std::int32_t index) { return plan_.ops[static_cast<std::size_t>(index)]; }
  bool changed() const { return changed_; }

  void erase(std::int32_t index);
  void insert_before(std::int32_t index, const Op& op) { insertions_.push_back({index, false, op}); }
  void insert_after(std::int32_t index, const Op& op) { insertions_.push_back({index, true, op}); }
  /// The op will be changed in place by the caller.
  Op& change(std::int32_t index) {
    changed_ = true;
    return op(index);
  }

  /// `op` with other views of its operands, all given rank by rank.
  Op with_views(Op op, std::int8_t operands,
                const std::function<View(std::int8_t operand, std::int32_t i)>& view_of);
  /// `op` on other ranks, with views of its operands given rank by rank.
  Op with_ranks(Op op, const std::vector<Rank>& ranks,
                const std::function<View(std::int8_t operand, std::int32_t i)>& view_of);
  View view(const Op& op, int operand, std::int32_t i = 0) const {
    return plan_.operand(op, operand)[static_cast<std::size_t>(i)];
  }
  BufferRole role(const Op& op, int operand) const { return plan_.buffer(view(op, operand).buffer).role; }

  /// Rebuilds the plan; true when anything was changed.
  bool commit();

 private:
  struct Insertion {
    std::int32_t at;
    bool after;
    Op op;
  };
  Planned& planned_;
  Plan& plan_;
  std::vector<bool> erased_;
  std::vector<Insertion> insertions_;
  bool changed_ = false;
};

}  // namespace shardcheck
