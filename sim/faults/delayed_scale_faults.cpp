// Faults of delayed scaling: amaxes pushed twice, steps closed twice or over another window, scales of
// another step, histories that a resume loses (fp8 3.1, E14, E16 to E19).
#include "sim/faults/kinds.h"
#include "sim/faults/weight_ops.h"

namespace shardcheck {
namespace {

using namespace weight_ops;

bool is_close(const Op& op) {
  return std::holds_alternative<CloseDelayedStep>(op.action) && op.why.purpose == Purpose::weights;
}

/// Recompute pushes what the first forward has pushed.
bool pushed_in_recompute(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::vector<Op> pushes;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (op.why.parameter.value != 0) continue;
    if (std::holds_alternative<TakeAmax>(op.action) && op.why.purpose == Purpose::forward)
      pushes.push_back(op);
    if (!std::holds_alternative<Matmul>(op.action) || op.why.purpose != Purpose::recompute) continue;
    for (Op push : pushes) {
      const bool is_its = push.why.use == op.why.use && push.why.microbatch == op.why.microbatch &&
                          push.why.step == op.why.step && push.first_rank == op.first_rank;
      if (!is_its) continue;
      push.why.purpose = Purpose::recompute;
      edit.insert_before(i, push);
    }
  }
  return edit.commit();
}

/// True when `op` closes or reduces the history of what `quantise` meets.
bool is_history_of(const PlanEdit& edit, const Op& op, const Op& quantise) {
  const View scale = edit.view(quantise, 1);
  return is_close(op) && edit.view(op, 2).buffer == scale.buffer && edit.view(op, 2).offset == scale.offset;
}

/// The histories of forward are closed between it and its recompute.
bool closed_before_recompute(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& quantise = edit.op(i);
    const bool is_first = is_of_first<QuantizeBlocks>(quantise) && quantise.why.purpose == Purpose::recompute;
    if (!is_first) continue;
    for (std::int32_t j = i; j < edit.size() && edit.op(j).why.step == quantise.why.step; ++j) {
      const Op& op = edit.op(j);
      if (is_maximum(edit, op)) edit.insert_before(i, op);
      if (!is_history_of(edit, op, quantise)) continue;
      edit.insert_before(i, op);
      edit.erase(j);
    }
  }
  return edit.commit();
}

bool closed_twice(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_close(edit.op(i))) edit.insert_after(i, edit.op(i));
  }
  return edit.commit();
}

/// From the second step on, the window is one step.
bool window_changed(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!is_close(op) || op.why.step == 0) continue;
    edit.change(i) = edit.with_views(op, 3, [&](std::int8_t operand, std::int32_t r) {
      View view = edit.view(op, operand, r);
      if (operand == 1) view.numel = 1;
      return view;
    });
  }
  return edit.commit();
}

/// The history that a step is closed with is not restored by a resume.
bool history_not_loaded(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  View history{BufferId{-1}, 0, 0};
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (is_of_first<CloseDelayedStep>(op)) history = edit.view(op, 1);
    const bool loads = std::holds_alternative<Copy>(op.action) && edit.view(op, 1) == history;
    if (loads) edit.erase(i);
  }
  return edit.commit();
}

void delayed(Scenario& s) {
  prepare::fp8(s, "te-delayed");
  prepare::two_steps(s);
}
void recomputed(Scenario& s) {
  delayed(s);
  s.fp8->recompute = true;
}
void recomputed_once(Scenario& s) {
  recomputed(s);
  s.microbatches = 1;
  prepare::repair(s);
}
void reloaded(Scenario& s) {
  delayed(s);
  s.fp8->reload_after = 0;
}

}  // namespace

void add_delayed_scale_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"M-F53", "NVIDIA-NeMo/Megatron-Bridge#1730 (Q44)",
           "a resume does not restore the history of amaxes", "F53", reloaded, history_not_loaded},
          {"M-F54", "ours: fp8 4.9 E19, as NVIDIA/TransformerEngine#2044, #2063 (Q42)",
           "a step of delayed scaling is closed twice", "F54", delayed, closed_twice},
          {"M-F55", "ours: fp8 4.9 E14", "recompute pushes the amaxes of the first forward again", "F55",
           recomputed, pushed_in_recompute},
          {"Q41", "NVIDIA/TransformerEngine#1723", "recompute meets the scale that its own step decided",
           "F55", recomputed_once, closed_before_recompute},
          {"Q42", "NVIDIA/TransformerEngine#1985",
           "the window of a history changes and its state is not made anew", "F54", delayed, window_changed},
      });
}

}  // namespace shardcheck
