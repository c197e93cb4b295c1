// Faults of flags, hooks and what is handed to autograd.
#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"

namespace shardcheck {
namespace {

bool is_of_first(const Op& op) {
  return op.why.parameter.value == 0;
}

/// The fold that follows a hook, or -1.
std::int32_t fold_after(PlanEdit& edit, std::int32_t hook) {
  const bool follows = hook + 1 < edit.size() && edit.op(hook + 1).why.purpose == Purpose::fold;
  return follows ? hook + 1 : -1;
}

/// The hook drops what it should have folded, from this microbatch on.
bool drop_from(Planned& planned, int microbatch) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!std::holds_alternative<Hook>(edit.op(i).action) || !is_of_first(edit.op(i))) continue;
    const std::int32_t fold = fold_after(edit, i);
    if (fold < 0 || edit.op(i).why.microbatch < microbatch) continue;
    edit.change(i).action = Hook{HookAction::drop};
    edit.erase(fold);
  }
  return edit.commit();
}

bool sticky_flag(Planned& planned, const Scenario&) {
  return drop_from(planned, 1);
}
bool drop_unfused_part(Planned& planned, const Scenario&) {
  return drop_from(planned, 0);
}

/// An unshard lowers the flag between the fused use and its hook, which then copies over the fused part.
bool copy_over_fused(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!std::holds_alternative<Hook>(edit.op(i).action) || !is_of_first(edit.op(i))) continue;
    const std::int32_t fold = fold_after(edit, i);
    if (fold < 0) continue;
    Op lowered = edit.op(i);
    lowered.action = Flag{false};
    edit.insert_before(i, lowered);
    edit.change(i).action = Hook{HookAction::copy};
    edit.change(fold).action = Copy{};
  }
  return edit.commit();
}

bool writes_first(const PlanEdit& edit, const Op& op) {
  return is_of_first(op) && std::holds_alternative<Gemm>(op.action) &&
         edit.role(op, 2) != BufferRole::param_grad;
}

/// The producer takes the flag of the first microbatch for its own work in every later one.
bool skips_when_flagged(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (op.why.microbatch == 0) continue;
    if (writes_first(edit, op) || (is_of_first(op) && std::holds_alternative<Flag>(op.action))) edit.erase(i);
  }
  return edit.commit();
}

/// What the producer fetched is never attached to the parameter: its products go to storage of nobody.
bool detached_destination(Planned& planned, const Scenario& s) {
  PlanEdit edit(planned);
  const BufferId nobodys{static_cast<std::int32_t>(planned.plan.buffers.size())};
  bool is_made = false;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!writes_first(edit, op)) continue;
    edit.change(i) = edit.with_views(op, 3, [&](std::int8_t operand, std::int32_t r) {
      const View view = edit.view(op, operand, r);
      return operand < 2 ? view : View{nobodys, 0, view.numel};
    });
    std::get<Gemm>(edit.change(i).action).accumulate = false;
    if (is_made) continue;
    is_made = true;
    std::vector<Rank> all;
    for (std::int32_t r = 0; r < planned.plan.ranks; ++r) all.push_back(Rank{r});
    const std::int64_t numel = s.parameters.front().numel();
    Op allocate = edit.with_ranks(op, all, [&](std::int8_t, std::int32_t) {
      return View{nobodys, 0, numel};
    });
    allocate.action = Allocate{};
    allocate.operands = 1;
    edit.insert_before(i, allocate);
  }
  if (!is_made) return false;
  planned.plan.buffers.push_back({.name = "detached",
                                  .role = BufferRole::param_grad,
                                  .dtype = s.parameters.front().dtype,
                                  .numel = s.parameters.front().numel()});
  return edit.commit();
}

bool placeholder_not_zeroed(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const bool zeroes =
        std::holds_alternative<Fill>(edit.op(i).action) && edit.op(i).why.purpose == Purpose::dummy;
    if (zeroes) edit.erase(i);
  }
  return edit.commit();
}

/// The producer returns main_grad itself; the owner copies it back through the parameter's type.
bool alias_returned(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  View destination{};
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (!is_of_first(op)) continue;
    if (std::holds_alternative<Gemm>(op.action)) destination = edit.view(op, 2);
    const auto* returned = std::get_if<Return>(&op.action);
    if (returned == nullptr || returned->what == Returned::real) continue;
    edit.change(i).action = Return{Returned::alias};
  }
  return edit.commit();
}

/// Autograd's second gradient replaces the first instead of being added to it.
bool assigned_gradient(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const bool sums = std::holds_alternative<Add>(op.action) && op.why.purpose == Purpose::none &&
                      edit.role(op, 1) == BufferRole::param_grad;
    if (sums) edit.change(i).action = Copy{};
  }
  return edit.commit();
}

/// A frozen parameter's flag is raised all the same.
bool flag_of_frozen(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!std::holds_alternative<BeginMicrobatch>(edit.op(i).action)) continue;
    Op raised = edit.op(i);
    raised.action = Flag{true};
    raised.why.parameter = ParamId{0};
    if (!edit.plan().parameters[0].trainable) edit.insert_after(i, raised);
  }
  return edit.commit();
}

void unfused_persistent(Scenario& s) {
  prepare::persistent(s);
  prepare::uses(s, {Producer::unfused});
  prepare::two_microbatches(s);
}
void fused_two_microbatches(Scenario& s) {
  prepare::persistent(s);
  prepare::fused(s);
  prepare::two_microbatches(s);
}
void fused_in_lease(Scenario& s) {
  prepare::leases(s);
  prepare::fused(s);
}
void tied_mixed(Scenario& s) {
  prepare::reference(s);
  prepare::uses(s, {Producer::unfused, Producer::fused});
}
void tied_mixed_in_lease(Scenario& s) {
  prepare::leases(s);
  prepare::uses(s, {Producer::unfused, Producer::fused});
}
void tied_unfused(Scenario& s) {
  prepare::reference(s);
  prepare::uses(s, {Producer::unfused, Producer::unfused});
}
void fused_once(Scenario& s) {
  prepare::reference(s);
  prepare::fused(s);
}
void frozen(Scenario& s) {
  prepare::reference(s);
  s.parameters.front().trainable = false;
  if (s.parameters.size() > 1) return;
  s.parameters.push_back({.name = "trained", .shape = {2, 12}});
  s.uses.push_back({1, Producer::fused, -1});
}

}  // namespace

void add_hook_faults(std::vector<Fault>& zoo) {
  zoo.insert(zoo.end(),
             {
                 {"B-02", "TransformerEngine ops/basic/basic_linear.py (read)",
                  "with overwrite, a view of main_grad is returned as the gradient", "W15", fused_once,
                  alias_returned},
                 {"B-06", "AMD-AGI/Primus#1046",
                  "a raised flag is taken for work that is done, so later microbatches are skipped", "W12",
                  fused_two_microbatches, skips_when_flagged},
                 {"B-16", "NVIDIA/TransformerEngine#2371",
                  "the destination that was fetched is not attached, and the owner sees no gradient", "W11",
                  fused_in_lease, detached_destination},
                 {"B-18", "NVIDIA/TransformerEngine#545 (K01)",
                  "a fused use returns an uninitialised placeholder that is added together with the "
                  "embedding's gradient",
                  "W14", tied_mixed, placeholder_not_zeroed},
                 {"B-20a", "Megatron-FSDP megatron_fsdp.py:_grad_acc (read; K01)",
                  "the flag of the fused use makes the hook drop the embedding's part of a tied weight",
                  "W13", tied_mixed_in_lease, drop_unfused_part},
                 {"B-20b", "Megatron-FSDP megatron_fsdp.py:_grad_acc (read)",
                  "an unshard lowers the flag, so the hook copies the embedding's part over the head's",
                  "W12", tied_mixed_in_lease, copy_over_fused},
                 {"B-21", "Megatron-LM distributed_data_parallel.py (read)",
                  "the flag of microbatch 0 sticks, so the real gradient of microbatch 1 is dropped", "W12",
                  unfused_persistent, sticky_flag},
                 {"B-24", "NVIDIA/TransformerEngine#2142 (remark)",
                  "a second gradient is assigned to param.grad instead of added", "W2", tied_unfused,
                  assigned_gradient},
                 {"M-W10", "ours: no public report", "the flag of a frozen parameter is raised", "W10",
                  frozen, flag_of_frozen},
             });
}

}  // namespace shardcheck
