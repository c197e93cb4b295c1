// Faults of DeepSpeed's accumulators: what a step begins with and when it ends are told by counters of
// micro-steps instead of by the gradients themselves (wgrad 3.7 to 3.9).
#include "sim/faults/kinds.h"
#include "sim/faults/loop_prepare.h"

namespace shardcheck {
namespace {

/// True when nobody uses the first parameter in the micro-step.
bool is_untouched(const Scenario& s, std::int32_t step, std::int32_t microbatch) {
  for (std::int32_t rank = 0; rank < s.ranks; ++rank) {
    if (is_used(s, 0, step, rank, microbatch)) return false;
  }
  return true;
}

/// The piece of the first parameter in that buffer on the rank; empty where there is none.
View piece_of_first(const Plan& plan, Rank rank, BufferId buffer) {
  for (const Placement& p : plan.placements) {
    if (p.parameter.value == 0 && p.rank == rank && p.view.buffer == buffer) return p.view;
  }
  return {buffer, 0, 0};
}

/// The accumulation in two parts, before and behind the parameter's piece, whose reduced bytes are dropped.
void leave_out_first(PlanEdit& edit, std::int32_t i) {
  const Op op = edit.op(i);
  enum class Part { before, itself, behind };
  const auto part = [&](Part which) {
    return edit.with_views(op, which == Part::itself ? 1 : 2, [&](std::int8_t operand, std::int32_t r) {
      const View all = edit.view(op, operand, r), shard = edit.view(op, 1, r);
      const Rank rank = edit.plan().ranks_of(op)[static_cast<std::size_t>(r)];
      const View piece = piece_of_first(edit.plan(), rank, shard.buffer);
      const std::int64_t lo = piece.numel > 0 ? piece.offset : shard.numel;
      const std::int64_t hi = piece.numel > 0 ? lo + piece.numel : shard.numel;
      if (which == Part::behind) return View{all.buffer, all.offset + hi, all.numel - hi};
      if (which == Part::itself) return View{all.buffer, all.offset + lo, hi - lo};
      return View{all.buffer, all.offset, lo};
    });
  };
  Op dropped = part(Part::itself);
  dropped.action = Undefine{};
  dropped.why.purpose = Purpose::none;
  for (const Op& kept : {part(Part::before), part(Part::behind), dropped}) edit.insert_after(i, kept);
  edit.erase(i);
}

/// Micro-step 0 copies the gradients that it has, all others add; what nobody touched is left alone.
bool copies_in_micro_step_0(Planned& planned, const Scenario& s) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (op.why.purpose != Purpose::accumulate || op.why.step == 0) continue;
    const bool holds_first = std::ranges::any_of(edit.plan().placements, [&](const Placement& p) {
      return p.parameter.value == 0 && p.view.buffer == edit.view(op, 1).buffer;
    });
    if (!holds_first) continue;
    edit.change(i).why.rule = BetaRule::microbatch_index;
    if (is_untouched(s, op.why.step, op.why.microbatch)) leave_out_first(edit, i);
  }
  return edit.commit();
}

/// Each backward but the last reduces as the last one does.
bool reduced_in_every_backward(Planned& planned, const Scenario& s) {
  PlanEdit edit(planned);
  std::vector<std::int32_t> ends;  // of the microbatches of the current step but its last
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (std::holds_alternative<BeginStep>(op.action)) ends.clear();
    if (std::holds_alternative<BeginMicrobatch>(op.action) && op.why.microbatch > 0) ends.push_back(i);
    if (op.why.purpose != Purpose::reduce || s.microbatches < 2) continue;
    for (std::int32_t end : ends) {
      Op early = op;
      early.stream = Stream::compute;
      edit.insert_before(end, early);
    }
  }
  return edit.commit();
}

void zero3_two_micro_steps(Scenario& s) {
  loop_prepare::unfused_owner(s, Strategy::deepspeed_3);
  prepare::two_steps(s);
  prepare::two_microbatches(s);
}
void zero3_silent_step(Scenario& s) {
  zero3_two_micro_steps(s);
  s.silent.push_back({0, 1, -1, -1});
}
void zero3_late_use(Scenario& s) {
  zero3_two_micro_steps(s);
  s.silent.push_back({0, 1, -1, 0});
}
/// Averaged by the collective on the wire of main_grad, so that nothing stands before the reduction.
void zero1_silent_at_last(Scenario& s) {
  loop_prepare::unfused_owner(s, Strategy::deepspeed_1);
  prepare::two_microbatches(s);
  prepare::two_ranks(s);
  s.parameters.front().expert = false;
  s.comm = s.main_grad;
  s.loss = Loss::mean;
  s.scaling = Scaling::in_collective;
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p)
    s.silent.push_back({p, -1, -1, s.microbatches - 1});
}

}  // namespace

void add_deepspeed_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"B-36", "DeepSpeed zero/stage3.py (read)",
           "a parameter that is silent for a step shows last step's total to the optimizer", "W8",
           zero3_silent_step, copies_in_micro_step_0},
          {"B-36b", "DeepSpeed zero/stage3.py (read)",
           "micro-step 0 copies and later ones add, so a parameter that is first used later is added to "
           "last step's total",
           "W5", zero3_late_use, copies_in_micro_step_0},
          {"B-43b", "allenai/open-instruct#1498 (K07)",
           "every backward is taken for an accumulation boundary, and what is reduced is reduced again",
           "W27", zero1_silent_at_last, reduced_in_every_backward},
      });
}

}  // namespace shardcheck
