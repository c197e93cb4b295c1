#include "core/contract/signalling.h"

#include <algorithm>

namespace shardcheck {

Signalling::Signalling(const Plan& plan, Reporter& reporter) : plan_(plan), reporter_(reporter) {
  const std::size_t slots = static_cast<std::size_t>(plan.ranks) * plan.parameters.size();
  intervals_.resize(slots);
  hook_reported_.assign(slots, false);
}

void Signalling::breach(std::string_view clause, Rank rank, const Op& op, const std::string& sentence) {
  reporter_.report(clause, rank, Reporter::Place{op.why.parameter, 0}, sentence);
}

void Signalling::apply(const Op& op) {
  if (op.why.parameter.value < 0) {
    if (std::holds_alternative<Interrupt>(op.action)) {
      for (Rank rank : plan_.ranks_of(op)) forget(rank);
    }
    return;
  }
  const auto parameter = static_cast<std::size_t>(op.why.parameter.value);
  // A write can take a detour: a GEMM somewhere else, and a copy or an addition from there.
  const bool moves = std::holds_alternative<Copy>(op.action) || std::holds_alternative<Add>(op.action);
  const bool writes = std::holds_alternative<Gemm>(op.action) || (moves && op.why.purpose == Purpose::write);
  const bool sums_itself = moves && plan_.operand(op, 0)[0] == plan_.operand(op, 1)[0] &&
                           plan_.buffer(plan_.operand(op, 0)[0].buffer).role == BufferRole::param_grad;
  const auto* flag = std::get_if<Flag>(&op.action);
  const auto* returned = std::get_if<Return>(&op.action);
  const auto* hooked = std::get_if<Hook>(&op.action);
  const bool ready = std::holds_alternative<Ready>(op.action);
  if (!writes && !flag && !returned && !hooked && !ready && !sums_itself) return;
  const PlanParameter& of = plan_.parameters[parameter];
  const bool frozen = !of.trainable || (op.why.step >= 0 && op.why.step < of.thaws_at);
  const bool acts =
      writes || ready || (flag && flag->value) || (returned && returned->what != Returned::nothing);
  const bool reaches_destination =
      writes && plan_.buffer(plan_.operand(op, op.operands - 1)[0].buffer).role != BufferRole::param_grad;
  for (Rank rank : plan_.ranks_of(op)) {
    const std::size_t slot = static_cast<std::size_t>(rank.value) * plan_.parameters.size() + parameter;
    Interval& now = intervals_[slot];
    if (frozen && acts) breach("W10", rank, op, "a frozen parameter takes part in the gradient protocol");
    // A deferred write belongs to no interval between two hooks: it is drained when the backwards are over.
    if (reaches_destination && !op.why.deferred) {
      const std::int64_t numel = plan_.operand(op, op.operands - 1)[0].numel;
      now.fused += 1;
      now.written += numel;
      if (op.stream == Stream::graph) now.replayed += numel;
    }
    now.real += writes && op.why.rule == BetaRule::gradient;  // also where it is too late to be returned
    if (flag) {
      now.cleared |= !flag->value && now.flag && now.fused > 0;
      now.is_later |= flag->value && op.why.deferred;
      if (flag->value && !op.why.deferred) {
        now.raised += 1;
        now.promised += of.numel();
      }
      now.flag = flag->value;
    }
    if (returned) {
      now.real += returned->what == Returned::real;
      now.dummies += returned->what == Returned::dummy || returned->what == Returned::zero_dummy;
      if (returned->what == Returned::alias) {
        breach("W15", rank, op, "the producer returns a view of the destination to autograd");
      }
    }
    if (sums_itself) breach("W15", rank, op, "autograd adds the gradient that it holds to itself");
    if (hooked) hook(op, *hooked, slot, rank);
  }
}

void Signalling::forget(Rank rank) {
  const std::size_t first = static_cast<std::size_t>(rank.value) * plan_.parameters.size();
  std::fill_n(intervals_.begin() + static_cast<std::ptrdiff_t>(first), plan_.parameters.size(), Interval{});
}

void Signalling::hook(const Op& op, const Hook& hook, std::size_t slot, Rank rank) {
  Interval& now = intervals_[slot];
  bool reported = true;
  const HookAction action = hook.action;
  if (now.raised > now.fused) {
    breach("W11", rank, op,
           "the flag says that a contribution is in the destination, but no write put it there");
  } else if (now.promised > now.written) {
    breach("W11", rank, op,
           "the flag says that a contribution is in the destination, but a part of it was never written");
  } else if (action == HookAction::drop && now.real > 0 && now.fused == 0) {
    breach("W12", rank, op,
           "a flag raised in an earlier microbatch makes the hook drop a real gradient of this one");
  } else if (action == HookAction::drop && now.dummies > 0 && now.fused == 0 && !now.is_later) {
    breach("W12", rank, op,
           "a flag raised in an earlier microbatch stands for the contribution of this one, which was never "
           "written");
  } else if ((action == HookAction::drop || action == HookAction::nothing) && now.real > 0) {
    breach("W13", rank, op, "the hook drops the gradient of an unfused use of the same parameter");
  } else if (action == HookAction::zero_fill && now.fused > 0) {
    breach("W12", rank, op,
           "the hook zeroes a fused contribution because its flag was lowered before the hook");
  } else if (action == HookAction::copy && now.fused > 0) {
    breach(now.cleared ? "W12" : "W13", rank, op,
           now.cleared ? "the flag was lowered between a fused use and its hook, so the hook copies over it"
                       : "the hook copies param.grad over a fused contribution");
  } else if (action == HookAction::add && now.real == 0 && now.fused > 0) {
    breach("W12", rank, op,
           "the flag was lowered between a fused use and its hook, so the hook adds the placeholder");
  } else if (now.replayed > now.promised) {
    breach("W35", rank, op,
           "a replay wrote into the destination, but nobody raised the flag that its capture had raised");
  } else {
    reported = false;
  }
  hook_reported_[slot] = reported;
  const bool flag = now.flag;
  now = Interval{};
  now.flag = flag;
}

}  // namespace shardcheck
