// What faults of fused writes look for in a plan, and how they give one another beta.
#pragma once

#include "sim/faults/edit.h"

namespace shardcheck::fused_writes {

inline bool is_fused_write(const PlanEdit& edit, const Op& op) {
  if (!std::holds_alternative<Gemm>(op.action)) return false;
  return edit.role(op, 2) == BufferRole::main_grad || edit.role(op, 2) == BufferRole::lease_slot;
}

inline bool first_parameter(const Op& op) {
  return op.why.parameter.value == 0;
}

/// Gives every fused write that `select` picks another beta, as if `rule` had chosen it.
template <class Select>
bool set_beta(Planned& planned, bool accumulate, BetaRule rule, Select select) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!is_fused_write(edit, edit.op(i)) || !select(edit.op(i))) continue;
    if (std::get<Gemm>(edit.op(i).action).accumulate == accumulate) continue;
    Op& op = edit.change(i);
    std::get<Gemm>(op.action).accumulate = accumulate;
    op.why.rule = rule;
  }
  return edit.commit();
}

}  // namespace shardcheck::fused_writes
