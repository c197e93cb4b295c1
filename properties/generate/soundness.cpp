#include "properties/generate/soundness.h"

#include <algorithm>

#include "sim/scenario/grouped_calls.h"

namespace shardcheck {
namespace {

/// The uses of one parameter. Backward meets them in the reverse of forward order.
struct Uses {
  std::int32_t fused = 0, other = 0, unfused = 0;
  std::int32_t unflagged = 0;        ///< of the fused ones
  bool first_is_fused = false;       ///< in forward order
  std::int32_t first_unit = -1;      ///< that runs the first
  bool other_writes_before = false;  ///< before a fused use does
  bool deferred = false;             ///< some write waits for the end of the step
  std::int32_t all() const { return fused + other + unfused; }
  std::int32_t writes() const { return fused + other; }
  std::int32_t flagged() const { return writes() - unflagged; }
};

std::int32_t unit_of(const Scenario& s, const ScenarioUse& use) {
  return use.unit >= 0 ? use.unit : s.parameters[static_cast<std::size_t>(use.parameter)].unit;
}

Uses uses_of(const Scenario& s, std::int32_t parameter) {
  Uses uses;
  for (const ScenarioUse& use : s.uses) {
    if (use.parameter != parameter) continue;
    if (uses.all() == 0) uses.first_is_fused = is_by_protocol(use.producer);
    if (uses.all() == 0) uses.first_unit = unit_of(s, use);
    uses.fused += is_by_protocol(use.producer);
    uses.unflagged += use.producer == Producer::unflagged;
    uses.other += use.producer == Producer::other;
    uses.unfused += use.producer == Producer::unfused || use.producer == Producer::assigned;
    uses.deferred |= use.producer == Producer::deferred;
    uses.other_writes_before |= use.producer == Producer::other && uses.fused > 0;
  }
  // Delayed fused writes are issued after all others.
  if (s.execution == Execution::delayed) uses.other_writes_before = uses.other > 0;
  return uses;
}

bool is_trainable(const Scenario& s, std::int32_t parameter) {
  return s.parameters[static_cast<std::size_t>(parameter)].trainable;
}

/// True when backward unshards the parameter's unit after one of its uses has raised the flag, but before its
/// hook has read it: the hook then takes the placeholder for a gradient (W12). Hooks of shared parameters and
/// of delayed writes wait for the end of backward.
bool is_flag_lowered_early(const Scenario& s, std::int32_t parameter, const Uses& uses) {
  const bool unshard_lowers = is_megatron_fsdp_v1(s.strategy) && s.strategy != Strategy::fsdp_no_shard;
  const bool hook_waits = uses.all() > 1 || s.execution == Execution::delayed;
  if (!unshard_lowers || !hook_waits) return false;
  const std::int32_t unit = s.parameters[static_cast<std::size_t>(parameter)].unit;
  for (auto use = s.uses.rbegin(); use != s.uses.rend(); ++use) {
    if (!is_trainable(s, use->parameter)) continue;
    if (unit_of(s, *use) == unit) return false;  // unsharded now, and once only
    const bool raises =
        !returns_gradient(use->producer, s.write_mode) && use->producer != Producer::unflagged;
    if (use->parameter == parameter && raises) return true;
  }
  return false;
}

/// True when the unit of the parameter is unsharded at all, which is when the owner sets overwrite_main_grad.
bool is_unsharded(const Scenario& s, std::int32_t parameter) {
  const std::int32_t unit = s.parameters[static_cast<std::size_t>(parameter)].unit;
  return std::ranges::any_of(s.uses, [&](const ScenarioUse& use) {
    return is_trainable(s, use.parameter) && unit_of(s, use) == unit;
  });
}

bool reads_overwrite_flag(WriteMode mode) {
  return mode == WriteMode::te_module || mode == WriteMode::te_ops;
}

/// True when fused writes answer beta = 0 in a microbatch without asking whether the parameter was touched in
/// it: on every lease but for R3, and in microbatch 0 of a persistent owner under R4 and the index driver.
bool overwrites_blindly(const Scenario& s) {
  if (has_leases(s.strategy)) return s.write_mode != WriteMode::r3;
  return s.write_mode == WriteMode::r4 || s.first_microbatch == FirstMicrobatch::index;
}

/// True when beta = 0 of a persistent owner belongs to one microbatch of a step, so that a graph that
/// captured it erases the later ones.
bool changes_beta_with_microbatch(const Scenario& s) {
  if (has_leases(s.strategy)) return false;
  return s.write_mode == WriteMode::r4 || s.first_microbatch != FirstMicrobatch::none;
}

/// Today's hooks and a predicate of today or R1 to R4, for a parameter that has uses.
bool is_parameter_sound(const Scenario& s, std::int32_t parameter, const Uses& uses) {
  // FSDP's hook drops or copies where it would have to add (W13); DDP's adds, as zero_out_wgrad is set.
  if (is_megatron_fsdp_v1(s.strategy) && uses.flagged() > 0 && uses.unfused > 0) return false;
  // It copies over a write that no flag tells of, and zero-fills what it finds no gradient of (W13, W12).
  const bool forgets = is_megatron_fsdp_v1(s.strategy) && has_leases(s.strategy);
  if (forgets && uses.unflagged > 0 && uses.flagged() == 0) return false;
  if (is_flag_lowered_early(s, parameter, uses)) return false;
  if (uses.fused == 0) return true;
  // A lease is undefined at first, and only an unshard tells today's producers so (table 4.2, M3 or M4).
  if (has_leases(s.strategy) && reads_overwrite_flag(s.write_mode) && !is_unsharded(s, parameter))
    return false;
  // The overwriting use must be the first to write.
  if (overwrites_blindly(s) && (uses.fused > 1 || uses.other_writes_before)) return false;
  // The armed call is the first of forward, so the last of backward: it must be the only one to write (B-04).
  // Where its unit is recomputed, backward keeps what the second forward says (wgrad 9.5).
  const bool armed = s.first_microbatch == FirstMicrobatch::armed && !has_leases(s.strategy) &&
                     !is_recomputed(s, uses.first_unit);
  if (armed && uses.first_is_fused && uses.writes() > 1) return false;
  return s.execution != Execution::graph || s.microbatches == 1 || !changes_beta_with_microbatch(s);
}

bool is_used_everywhere(const Scenario& s, std::int32_t parameter, std::int32_t microbatches) {
  for (std::int32_t step = 0; step < s.steps; ++step) {
    for (std::int32_t rank = 0; rank < s.ranks; ++rank) {
      bool used = false;
      for (std::int32_t m = 0; m < microbatches && !used; ++m) used = is_used(s, parameter, step, rank, m);
      if (!used) return false;
    }
  }
  return true;
}

/// R4 zeroes nothing: what no write of the step overwrites is stale (W6, W8). Fused uses overwrite in
/// microbatch 0 only; `other` uses know the first touch wherever it comes; a hook adds to what is there.
bool is_overwritten_by_r4(const Scenario& s, std::int32_t parameter, const Uses& uses) {
  if (s.parameters[static_cast<std::size_t>(parameter)].numel() == 0) return true;
  if (uses.fused > 0) return is_used_everywhere(s, parameter, 1);
  return uses.other > 0 && is_used_everywhere(s, parameter, s.microbatches);
}

/// Today's grouped layers read the flags of their first member: right where all members are in one state. The
/// touched bit of R3 and the armed flag are, when each member has this use only, as all are used and frozen
/// together; the overwrite flag is, when their units are unsharded or are not.
bool is_call_sound(const Scenario& s, const GroupedCall& call) {
  const bool leases = has_leases(s.strategy);
  const bool reads_history =
      leases ? s.write_mode == WriteMode::r3 : s.first_microbatch == FirstMicrobatch::armed;
  const bool reads_unit = leases && reads_overwrite_flag(s.write_mode);
  const bool is_first_unsharded = is_unsharded(s, s.uses[call.first].parameter);
  for (std::size_t u = call.first; u < call.last; ++u) {
    const std::int32_t member = s.uses[u].parameter;
    const bool is_only = std::ranges::count(s.uses, member, &ScenarioUse::parameter) == 1;
    if (reads_history && !is_only) return false;
    if (reads_unit && is_unsharded(s, member) != is_first_unsharded) return false;
  }
  return true;
}

bool are_calls_sound(const Scenario& s) {
  return std::ranges::all_of(calls_of(s), [&](const GroupedCall& call) {
    return call.members() == 1 || returns_gradient(s.uses[call.first].producer, s.write_mode) ||
           is_call_sound(s, call);
  });
}

}  // namespace

bool is_sound(const Scenario& s) {
  const bool overwrites = s.write_mode == WriteMode::r4;
  // A persistent destination that is added to must be zeroed (W6); a shard may also be copied onto.
  const bool keeps = !has_leases(s.strategy) && !replaces_first(s.strategy);
  if (!s.zeroing && keeps && !overwrites) return false;
  if (has_reference_hooks(s.write_mode)) return true;
  if (!are_calls_sound(s)) return false;
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    if (!is_trainable(s, p)) continue;
    const Uses uses = uses_of(s, p);
    if (uses.deferred) return false;  // today's flags and proxies do not speak of a drain
    if (overwrites && !is_overwritten_by_r4(s, p, uses)) return false;
    if (uses.all() > 0 && !is_parameter_sound(s, p, uses)) return false;
  }
  return true;
}

}  // namespace shardcheck
