#include "sim/owners/hooks.h"

#include <algorithm>

#include "sim/producers/producer.h"

namespace shardcheck {
namespace {

HookAction reference_action(const HostState& host) {
  if (host.real == 0) return host.dummies > 0 ? HookAction::drop : HookAction::nothing;
  return host.touched || host.known_zero ? HookAction::add : HookAction::copy;
}

HookAction ddp_action(const HostState& host, bool zero_out_wgrad) {
  if (host.real == 0) return host.dummies > 0 ? HookAction::drop : HookAction::nothing;
  return host.added && !zero_out_wgrad ? HookAction::drop : HookAction::add;
}

HookAction fsdp_action(const HostState& host, bool leases) {
  const bool present = host.real + host.dummies > 0;
  if (host.added) return HookAction::drop;
  if (present) return leases ? HookAction::copy : HookAction::add;
  // What is left over at the end of backward is zero-filled, whoever wrote it.
  return leases && host.touched ? HookAction::zero_fill : HookAction::nothing;
}

HookAction action_of(const Job& job, const HostState& host, std::int32_t parameter) {
  const Scenario& s = job.scenario;
  if (job.lapse == Lapse::hooks_distributed && is_distributed(s, parameter)) return HookAction::add;
  if (has_reference_hooks(s.write_mode)) return reference_action(host);
  if (is_megatron_fsdp_v1(s.strategy)) return fsdp_action(host, has_leases(s.strategy));
  return ddp_action(host, job.is_mixed(parameter));
}

Row row_of(HookAction action) {
  switch (action) {
    case HookAction::drop: return Row::hook_drop;
    case HookAction::add: return Row::hook_add;
    case HookAction::copy: return Row::hook_copy;
    default: return Row::hook_nothing;
  }
}

void fold(Job& job, Owner& owner, std::int32_t parameter, HookAction action, std::span<const Rank> ranks) {
  const View gradient = gradient_of_autograd(job, parameter);
  for (const Piece& piece : owner.acquire(parameter)) {
    if (action == HookAction::add)
      job.build.op(Add{}, job.why(Purpose::fold, parameter), Stream::compute, ranks);
    else
      job.build.op(Copy{}, job.why(Purpose::fold, parameter), Stream::compute, ranks);
    job.build.on({gradient.buffer, gradient.offset + piece.first, piece.view.numel}).on(piece.view);
  }
  for (Rank rank : ranks) {
    job.host(rank, parameter).touched = true;
    job.host(rank, parameter).known_zero = false;
  }
}

void zero_fill(Job& job, Owner& owner, std::int32_t parameter, std::span<const Rank> ranks) {
  for (const Piece& piece : owner.acquire(parameter))
    job.build.op(Fill{0}, job.why(Purpose::zero, parameter), Stream::compute, ranks).on(piece.view);
}

}  // namespace

bool is_hook_postponed(const Job& job, std::int32_t parameter) {
  const Scenario& s = job.scenario;
  const auto is_seen = [&](const ScenarioUse& use) {
    return use.parameter == parameter && use.producer != Producer::unflagged;
  };
  return is_megatron_fsdp_v1(s.strategy) && !has_reference_hooks(s.write_mode) &&
         (job.uses_of(parameter) > 1 || std::ranges::none_of(s.uses, is_seen));
}

void run_hook(Job& job, Owner& owner, std::int32_t parameter) {
  const auto action_on = [&](Rank rank) { return action_of(job, job.host(rank, parameter), parameter); };
  job.each_group(job.ranks_of(parameter), action_on, [&](HookAction action, std::span<const Rank> ranks) {
    job.take(row_of(action));
    if (action == HookAction::nothing) return;
    const bool folds = action == HookAction::add || action == HookAction::copy;
    if (folds) job.await_replays({&parameter, 1}, Stream::compute);
    if (folds) add_placeholder(job, parameter, ranks);
    job.build.op(Hook{action}, job.why(Purpose::none, parameter), Stream::compute, ranks);
    if (folds) fold(job, owner, parameter, action, ranks);
    if (action == HookAction::zero_fill) zero_fill(job, owner, parameter, ranks);
    const bool lowers =
        is_megatron_fsdp_v1(job.scenario.strategy) && !has_reference_hooks(job.scenario.write_mode);
    for (Rank rank : ranks) {
      HostState& host = job.host(rank, parameter);
      host.dummies = 0;
      if (job.lapse != Lapse::keeps_chain || !has_chain(job.scenario, parameter)) host.real = 0;
      if (lowers || has_reference_hooks(job.scenario.write_mode)) host.added = false;
    }
  });
}

}  // namespace shardcheck
