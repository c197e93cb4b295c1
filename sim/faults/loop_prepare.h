// Scenarios in which faults of the training loop can show (prepare.h): a step given up where the state in
// question is there, a process that goes on, a unit recomputed, a parameter that thaws.
#pragma once

#include "sim/faults/prepare.h"

namespace shardcheck::loop_prepare {

inline void recompute_all(Scenario& s) {
  s.loop.recompute = {.all = true, .units = {}};
}
inline void recomputed_persistent(Scenario& s) {
  prepare::persistent(s);
  prepare::fused(s);
  recompute_all(s);
}
inline void recomputed_lease(Scenario& s) {
  prepare::leases(s);
  prepare::fused(s);
  recompute_all(s);
}

inline void resumed(Scenario& s) {
  prepare::two_steps(s);
  s.loop.resumes = {0};
}
/// Today's module path without a driver: right for any number of uses of a persistent destination.
inline void resumed_repeated_layer(Scenario& s) {
  prepare::persistent(s);
  prepare::uses(s, {Producer::fused, Producer::fused});
  s.strategy = Strategy::megatron_ddp_zero1;
  s.write_mode = WriteMode::te_module;
  for (ScenarioUse& use : s.uses) {
    if (use.parameter != 0) use.producer = Producer::unfused;
  }
  resumed(s);
}
inline void resumed_tied(Scenario& s) {
  prepare::reference(s);
  prepare::uses(s, {Producer::unfused, Producer::fused});
  resumed(s);
}

/// In the first backward of the first step, after that many uses: those of the first parameter come first.
inline void aborted(Scenario& s, std::int32_t after_uses) {
  s.loop.aborts = {{.step = 0, .microbatch = 0, .after_uses = after_uses}};
}
/// The owner of the kind whose producers are all unfused.
inline void unfused_owner(Scenario& s, Strategy strategy) {
  prepare::reference(s);
  s.strategy = strategy;
  s.outer = 1;
  s.outer_mode = OuterMode::replicate;
  prepare::without_switches(s);
  s.execution = Execution::eager;
  s.write_mode = WriteMode::r5;
  for (ScenarioUse& use : s.uses) use.producer = Producer::unfused;
  prepare::uses(s, {Producer::unfused});
}
inline void aborted_after_hook(Scenario& s) {
  unfused_owner(s, Strategy::deepspeed_1);
  aborted(s, 1);
}
inline void aborted_lease(Scenario& s) {
  prepare::leases(s);
  prepare::uses(s, {Producer::fused, Producer::fused});
  aborted(s, 1);
}
/// Another weight in the bucket of the first, used before it.
inline void one_bucket(Scenario& s) {
  prepare::leases(s);
  prepare::uses(s, {Producer::fused});
  const std::int32_t last = prepare::twin(s);
  s.uses.insert(s.uses.begin(), {last, Producer::fused, -1});
}
inline void aborted_bucket(Scenario& s) {
  one_bucket(s);
  aborted(s, 1);
}
/// What one microbatch has left is replaced by the first of the next attempt.
inline void aborted_sum(Scenario& s) {
  prepare::leases(s);
  prepare::fused(s);
  prepare::two_microbatches(s);
  s.zeroing = false;
  s.loop.aborts = {{.step = 0, .microbatch = 1, .after_uses = 0}};
}
inline void aborted_tied_unfused(Scenario& s) {
  prepare::reference(s);
  prepare::uses(s, {Producer::unfused, Producer::unfused});
  aborted(s, 1);
}
inline void rerun_persistent(Scenario& s) {
  prepare::persistent(s);
  prepare::fused(s);
  s.loop.aborts = {{.step = 0, .microbatch = -1, .after_uses = 0}};
}

inline void thaws(Scenario& s) {
  prepare::two_steps(s);
  s.parameters.front().thaws_at = 1;
  for (ScenarioParameter& p : s.parameters) {
    if (p.tied_to == 0) p.thaws_at = 1;
  }
}
inline void thawing(Scenario& s) {
  prepare::reference(s);
  prepare::fused(s);
  thaws(s);
}
inline void thawing_in_lease(Scenario& s) {
  one_bucket(s);
  thaws(s);
}

/// FSDP2 that reduces in the last microbatch, on data and a mesh whose sums are exact.
inline void unsynced(Scenario& s) {
  unfused_owner(s, Strategy::fsdp2);
  prepare::two_microbatches(s);
  prepare::two_steps(s);
  s.sync = Sync::last;
  s.ranks = 2;
  s.expert_parallel = 1;
  s.loss = Loss::mean;
  s.scaling = Scaling::before;
}

}  // namespace shardcheck::loop_prepare
