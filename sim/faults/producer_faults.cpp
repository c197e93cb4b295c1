// Faults of the rarer producers: a write that no flag and no hook tells of (Q3), and products that are added
// to param.grad (R8, Q16).
#include <optional>

#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"
#include "sim/faults/replan.h"

namespace shardcheck {
namespace {

bool is_write_of_first(const Op& op) {
  return std::holds_alternative<Gemm>(op.action) && op.why.parameter.value == 0;
}

/// The hook knows of no other write than those of which a flag tells, so that it copies where it must add.
bool copy_over_unflagged(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i + 1 < edit.size(); ++i) {
    const auto* hook = std::get_if<Hook>(&edit.op(i).action);
    if (hook == nullptr || hook->action != HookAction::add || edit.op(i).why.parameter.value != 0) continue;
    edit.change(i).action = Hook{HookAction::copy};
    for (std::int32_t fold = i + 1; edit.op(fold).why.purpose == Purpose::fold; ++fold)
      edit.change(fold).action = Copy{};
  }
  return edit.commit();
}

/// What is left over at the end of backward is zero-filled: no hook has said that it was written.
bool zero_fill_unflagged(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& write = edit.op(i);
    if (!is_write_of_first(write) || write.why.use != 0) continue;
    Op fill = edit.with_views(write, 1, [&](std::int8_t, std::int32_t r) { return edit.view(write, 2, r); });
    fill.action = Fill{0};
    fill.why.purpose = Purpose::zero;
    Op hook = edit.with_views(write, 0, {});
    hook.action = Hook{HookAction::zero_fill};
    hook.why.purpose = Purpose::none;
    edit.insert_after(i, hook);
    edit.insert_after(i, fill);
  }
  return edit.commit();
}

/// The framework does not clear param.grad meanwhile: autograd adds what is returned to what is there, which
/// are the same bytes.
bool gradient_added_to_itself(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::optional<View> held;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (is_write_of_first(op) && op.why.rule == BetaRule::gradient) held = edit.view(op, 2);
    const auto* returned = std::get_if<Return>(&op.action);
    if (returned == nullptr || returned->what != Returned::chained || op.why.parameter.value != 0) continue;
    Op sum = edit.with_views(op, 2, [&](std::int8_t, std::int32_t) { return *held; });
    sum.action = Add{};
    edit.insert_after(i, sum);
  }
  return edit.commit();
}

/// A later use does not look whether param.grad is there.
bool later_use_overwrites(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const bool adds = is_write_of_first(edit.op(i)) && std::get<Gemm>(edit.op(i).action).accumulate;
    if (adds) std::get<Gemm>(edit.change(i).action).accumulate = false;
  }
  return edit.commit();
}

/// The framework knows one type a parameter, that of its values.
bool gradient_in_type_of_parameter(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!is_write_of_first(edit.op(i))) continue;
    const BufferId held = edit.view(edit.change(i), 2).buffer;
    planned.plan.buffers[static_cast<std::size_t>(held.value)].dtype = planned.plan.parameters[0].dtype;
  }
  return edit.commit();
}

/// Two matrices in one bucket. Backward comes to the first one last, and autograd calls a hook for the second
/// one alone.
void beside_unflagged(Scenario& s) {
  prepare::reference(s);
  prepare::one_stage(s);
  prepare::two_ranks(s);
  prepare::two_steps(s);
  s.fp8.reset();
  prepare::uses(s, {Producer::unflagged});
  ScenarioParameter& first = s.parameters.front();
  first.expert = false;
  first.unit = 0;
  ScenarioParameter second = first;
  second.name += ".beside";
  s.parameters = {first, second};
  s.uses = {{0, Producer::unflagged, -1}, {1, Producer::fused, -1}};
  s.silent.clear();
  s.token_counts.clear();
  s.execution = Execution::eager;
  s.overlap = true;
  s.bucket_size = 0;
}
void unflagged_and_unfused(Scenario& s) {
  prepare::leases(s);
  prepare::uses(s, {Producer::unfused, Producer::unflagged});
  s.execution = Execution::eager;
}
void unflagged_in_lease(Scenario& s) {
  prepare::leases(s);
  prepare::uses(s, {Producer::unflagged});
  s.execution = Execution::eager;
}
void chain(Scenario& s) {
  prepare::reference(s);
  prepare::uses(s, {Producer::fused, Producer::fused});
  prepare::two_microbatches(s);
  s.parameters.front().dtype = DType::bf16;
  s.write_mode = WriteMode::r8;
  s.execution = Execution::eager;
  s.main_grad = s.comm = DType::f32;
}

}  // namespace

void add_producer_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"M-W12-leftover", "Megatron-FSDP megatron_fsdp.py:_root_post_backward (read)",
           "what no hook has seen is zero-filled when the backward ends, and with it a write without a flag",
           "W12", unflagged_in_lease, zero_fill_unflagged},
          {"M-W13-chain", "ours: no public report",
           "under R8 the hook folds param.grad and does not clear it: the next product adds to it", "W13",
           chain, with_lapse<Lapse::keeps_chain>},
          {"M-W13-unflagged", "Megatron-FSDP megatron_fsdp.py:_grad_acc (read)",
           "the hook copies a real gradient over a write that no flag told of", "W13", unflagged_and_unfused,
           copy_over_unflagged},
          {"M-W15-chain", "ours: no public report",
           "under R8 param.grad is not cleared meanwhile: autograd adds the storage to itself", "W15", chain,
           gradient_added_to_itself},
          {"M-W16-chain", "ours: no public report",
           "under R8 param.grad is in the parameter's type, through which every fused write passes", "W16",
           chain, gradient_in_type_of_parameter},
          {"M-W20-hooks", "ours: no public report",
           "a bucket is reduced when the hooks that fired in an earlier step have fired, before a write that "
           "no hook tells of",
           "W20", beside_unflagged, with_lapse<Lapse::counts_hooks>},
          {"M-W4-chain", "ours: no public report",
           "under R8 a later use overwrites param.grad instead of adding to it", "W4", chain,
           later_use_overwrites},
      });
}

}  // namespace shardcheck
