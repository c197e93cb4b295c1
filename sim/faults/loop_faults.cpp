// Faults of the training loop: recomputation that takes part in the protocol, what survives a step that was
// given up or is lost with a process, parameters that thaw, and a synchronisation that is put off.
#include "sim/faults/kinds.h"
#include "sim/faults/loop_prepare.h"
#include "sim/faults/replan.h"

namespace shardcheck {
namespace {

bool is_of_first(const Op& op) {
  return op.why.parameter.value == 0;
}

/// Nobody drove is_first_microbatch; now a flag does that only a fresh process arms.
bool armed_in_a_fresh_process(Planned& planned, const Scenario& s) {
  Scenario armed = s;
  armed.first_microbatch = FirstMicrobatch::armed;
  return replan(planned, armed, Lapse::arms_once);
}

/// Its ops are there before it thaws.
bool takes_part_early(Planned& planned, const Scenario& s) {
  Scenario early = s;
  for (ScenarioParameter& p : early.parameters) p.thaws_at = 0;
  if (!replan(planned, early, Lapse::none)) return false;
  for (std::size_t p = 0; p < s.parameters.size(); ++p)
    planned.plan.parameters[p].thaws_at = s.parameters[p].thaws_at;
  return true;
}

/// Calls `put(end of the recomputation, op)` for the first op behind each recomputation that `wanted` picks,
/// of the same microbatch.
template <class Wanted, class Put>
bool into_recompute(Planned& planned, Wanted wanted, Put put) {
  PlanEdit edit(planned);
  std::int32_t end = -1;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (std::holds_alternative<BeginMicrobatch>(op.action)) end = -1;
    if (std::holds_alternative<EndRecompute>(op.action)) end = i;
    if (end < 0 || !wanted(op)) continue;
    put(edit, end, i);
    end = -1;
  }
  return edit.commit();
}

bool is_write_of_first(const Op& op) {
  return std::holds_alternative<Gemm>(op.action) && is_of_first(op);
}

/// The gradient is computed once more, and both are added.
bool recompute_is_a_use(Planned& planned, const Scenario&) {
  return into_recompute(planned, is_write_of_first, [](PlanEdit& edit, std::int32_t end, std::int32_t write) {
    edit.insert_before(end, edit.op(write));
    std::get<Gemm>(edit.change(write).action).accumulate = true;
  });
}

/// The unshard of the second forward counts, and opens what is open or will be.
bool recompute_opens_a_lease(Planned& planned, const Scenario&) {
  return into_recompute(
      planned, [](const Op& op) { return std::holds_alternative<OpenLease>(op.action); },
      [](PlanEdit& edit, std::int32_t end, std::int32_t open) {
        edit.insert_before(end, edit.op(open));
        edit.erase(open);
      });
}

bool recompute_raises_a_flag(Planned& planned, const Scenario&) {
  return into_recompute(
      planned,
      [](const Op& op) {
        const auto* flag = std::get_if<Flag>(&op.action);
        return flag != nullptr && flag->value && is_of_first(op);
      },
      [](PlanEdit& edit, std::int32_t end, std::int32_t flag) { edit.insert_before(end, edit.op(flag)); });
}

/// Under Sync::last, what the hooks of the first parameter do in microbatches that are not reduced.
template <class Change>
bool change_unsynced_folds(Planned& planned, const Scenario& s, Change change) {
  PlanEdit edit(planned);
  if (s.sync != Sync::last) return false;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const bool is_last = op.why.microbatch == s.microbatches - 1;
    if (is_of_first(op) && !is_last) change(edit, i);
  }
  return edit.commit();
}

/// Without a reduction to come, the hook returns before it folds.
bool fold_skipped_without_sync(Planned& planned, const Scenario& s) {
  return change_unsynced_folds(planned, s, [](PlanEdit& edit, std::int32_t i) {
    if (edit.op(i).why.purpose == Purpose::fold) edit.erase(i);
    if (std::holds_alternative<Hook>(edit.op(i).action)) edit.change(i).action = Hook{HookAction::drop};
  });
}

/// The hook folds, and so does what runs at the end of a backward without a reduction.
bool folded_twice_without_sync(Planned& planned, const Scenario& s) {
  return change_unsynced_folds(planned, s, [](PlanEdit& edit, std::int32_t i) {
    if (edit.op(i).why.purpose != Purpose::fold) return;
    Op again = edit.op(i);
    again.action = Add{};
    edit.insert_after(i, again);
  });
}

}  // namespace

void add_loop_faults(std::vector<Fault>& zoo) {
  namespace p = loop_prepare;
  zoo.insert(
      zoo.end(),
      {
          {"M-W37a", "ours: wgrad W37",
           "recomputation counts as a use, so that the contribution is written twice", "W37",
           p::recomputed_persistent, recompute_is_a_use},
          {"M-W37b", "ours: wgrad 3.5, unshard counter",
           "the unshard of a recomputed forward opens the lease of backward", "W37", p::recomputed_lease,
           recompute_opens_a_lease},
          {"M-W37c", "ours: wgrad W37", "the recomputed forward raises the flag of the gradient to come",
           "W37", p::recomputed_persistent, recompute_raises_a_flag},
          {"B-04b", "NVIDIA/Megatron-LM#6965 (resume)",
           "is_first_microbatch is armed in a fresh process only, so a resumed run overwrites where the "
           "uninterrupted one adds",
           "W40", p::resumed_repeated_layer, armed_in_a_fresh_process},
          {"B-57", "NVIDIA/Megatron-LM#5790",
           "what stood on parameter objects is lost when they are built anew: nobody zeroes the placeholder "
           "of "
           "a tied weight",
           "W40", p::resumed_tied, with_lapse<Lapse::loses_attributes>},
          {"M-W40a", "ours: wgrad W40", "the touched bit survives the abort of a step", "W40",
           p::aborted_after_hook, with_lapse<Lapse::keeps_touches>},
          {"M-W40b", "ours: wgrad W40", "a lease that was open when the step was given up stays open", "W40",
           p::aborted_lease, with_lapse<Lapse::keeps_leases>},
          {"M-W40c", "ours: wgrad W40", "parameters that were ready before the abort stay counted", "W40",
           p::aborted_bucket, with_lapse<Lapse::keeps_counters>},
          {"M-W40d", "ours: wgrad W40",
           "the accumulator of the step that was given up is added to instead of replaced", "W40",
           p::aborted_sum, with_lapse<Lapse::keeps_sums>},
          {"M-W40e", "ours: wgrad W40", "param.grad of the backward that was given up is added to", "W40",
           p::aborted_tied_unfused, with_lapse<Lapse::keeps_gradients>},
          {"M-W40f", "ours: wgrad 5.F, the rerun of a step zeroes again",
           "the step that is run again is not zeroed again", "W40", p::rerun_persistent,
           with_lapse<Lapse::zeroes_once>},
          {"M-W10b", "ours: wgrad W10", "a frozen parameter takes part in the steps before it thaws", "W10",
           p::thawing, takes_part_early},
          {"M-W29b", "ours: wgrad W10 and 3.5, the bucket's target",
           "a bucket does not wait for a parameter that has thawed, whose gradient stays in a lease", "W29",
           p::thawing_in_lease, with_lapse<Lapse::keeps_membership>},
          {"B-59", "derived from PyTorch's _fsdp_param_group.py",
           "synchronisation stays off in the last microbatch, and the unsharded sum leaks into the next step",
           "W29", p::unsynced, with_lapse<Lapse::stays_unsynced>},
          {"M-W31a", "ours: wgrad W31", "without a reduction the hook does not fold either", "W31",
           p::unsynced, fold_skipped_without_sync},
          {"M-W31b", "ours: wgrad W31", "where reductions are put off the gradient is folded twice", "W31",
           p::unsynced, folded_twice_without_sync},
      });
}

}  // namespace shardcheck
