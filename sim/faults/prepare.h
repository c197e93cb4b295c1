// What faults need of a scenario, as small changes to a valid one. The result is validated again by who draws
// it.
#pragma once

#include <algorithm>

#include "sim/scenario/grouped_calls.h"
#include "sim/scenario/scenario.h"

namespace shardcheck::prepare {

/// A protocol that is right for every scenario in a loop that goes straight on, so that only the fault can be
/// wrong.
inline void reference(Scenario& s) {
  if (!has_reference_hooks(s.write_mode)) s.write_mode = WriteMode::r5;
  s.first_microbatch = FirstMicrobatch::none;
  s.loop = {};
  for (ScenarioParameter& p : s.parameters) p.thaws_at = 0;
}
inline void persistent(Scenario& s) {
  reference(s);
  if (has_leases(s.strategy)) s.strategy = s.slots % 2 ? Strategy::fsdp_optim : Strategy::megatron_ddp_zero1;
}
inline void leases(Scenario& s) {
  reference(s);
  if (!has_leases(s.strategy))
    s.strategy = s.slots % 2 ? Strategy::fsdp_optim_grads : Strategy::fsdp_optim_grads_params;
}
inline void two_microbatches(Scenario& s) {
  s.microbatches = std::max(s.microbatches, 2);
}
inline void two_steps(Scenario& s) {
  s.steps = std::max(s.steps, 2);
}
inline void two_ranks(Scenario& s) {
  if (s.ranks >= 2) return;
  s.ranks = 2;
  s.expert_parallel = 1;
}
/// No switch that only some owners have.
inline void without_switches(Scenario& s) {
  s.sync = Sync::every;
  s.outer_sync = Sync::last;
  s.reshard = Reshard::after_forward;
  s.offload = false;
}
/// An owner of the same kind whose producers may be fused.
inline void fusing_owner(Scenario& s) {
  if (!is_unfused_only(s.strategy)) return;
  s.strategy = has_leases(s.strategy) ? Strategy::fsdp_optim_grads : Strategy::megatron_ddp_zero1;
  without_switches(s);
}
/// A protocol whose fused uses write the destination themselves.
inline void writing(Scenario& s) {
  if (returns_gradient(Producer::fused, s.write_mode)) s.write_mode = WriteMode::r5;
}
/// The first parameter is a trainable matrix.
inline void matrix(Scenario& s) {
  ScenarioParameter& p = s.parameters.front();
  p.trainable = true;
  if (p.shape.size() < 2 || p.numel() == 0) p.shape = {2, 12};
}
inline void used(Scenario& s) {
  std::erase_if(s.silent, [](const Silence& silence) { return silence.parameter == 0; });
  std::erase_if(s.token_counts, [](const TokenCount& count) { return count.tokens == 0; });
  s.tokens = std::max<std::int64_t>(s.tokens, 1);
}
/// The first parameter is a matrix whose uses are these, in forward order.
inline void uses(Scenario& s, std::initializer_list<Producer> producers) {
  matrix(s);
  used(s);
  std::erase_if(s.uses, [](const ScenarioUse& use) { return use.parameter == 0; });
  for (Producer producer : producers) s.uses.push_back({0, producer, -1});
  mend_calls(s);
  if (std::ranges::count(producers, Producer::unfused) < std::ssize(producers)) fusing_owner(s);
  writing(s);
}
inline void fused(Scenario& s) {
  uses(s, {Producer::fused});
}

/// The last parameter becomes like the first, a matrix, and has no use. A model of one gets another. Returns
/// its index.
inline std::int32_t twin(Scenario& s) {
  if (s.parameters.size() == 1) s.parameters.push_back({.name = "next", .shape = {2, 12}});
  ScenarioParameter& other = s.parameters.back();
  const std::string name = other.name;
  other = s.parameters.front();
  other.name = name;
  const auto last = static_cast<std::int32_t>(s.parameters.size()) - 1;
  std::erase_if(s.uses, [&](const ScenarioUse& use) { return use.parameter == last; });
  std::erase_if(s.silent, [&](const Silence& silence) { return silence.parameter == last; });
  return last;
}
/// It is in another unit than the first, and its use comes last in forward.
inline void twin_in_another_unit(Scenario& s, Producer producer) {
  const std::int32_t last = twin(s);
  s.parameters.front().unit = 0;
  s.parameters.back().unit = 1;
  s.uses.push_back({last, producer, -1});
}

inline void one_stage(Scenario& s) {
  s.stages = 1;
  for (ScenarioParameter& p : s.parameters) {
    p.stage = 0;
    p.tied_to = -1;
  }
}
/// Four ranks in two outer groups, of an owner that keeps the shards between microbatches.
inline void hybrid(Scenario& s) {
  reference(s);
  s.fp8.reset();
  if (s.strategy != Strategy::fsdp_optim_grads_params) s.strategy = Strategy::fsdp_optim_grads;
  without_switches(s);
  s.ranks = 4;
  s.expert_parallel = 1;
  s.outer = 2;
  s.outer_mode = OuterMode::replicate;
  one_stage(s);
  fused(s);
}
/// No tensor-parallel ranks beside the data-parallel ones.
inline void one_tensor_rank(Scenario& s) {
  s.tensor = 1;
  for (ScenarioParameter& p : s.parameters) p.sequence_parallel = false;
}
/// An owner that sums copies of parameters, without outer groups.
inline void summing_owner(Scenario& s) {
  reference(s);
  s.fp8.reset();
  if (!is_megatron_ddp(s.strategy) && !is_megatron_fsdp_v1(s.strategy))
    s.strategy = has_leases(s.strategy) ? Strategy::fsdp_optim_grads : Strategy::megatron_ddp_zero1;
  without_switches(s);
  s.outer = 1;
  s.outer_mode = OuterMode::replicate;
  two_ranks(s);
}
/// Two tensor-parallel ranks, on both of which the first parameter, a matrix, has a copy.
inline void tensor_parallel(Scenario& s) {
  summing_owner(s);
  one_stage(s);
  uses(s, {Producer::fused});
  s.tensor = 2;
  s.parameters.front().expert = false;
  s.parameters.front().sequence_parallel = true;
}
/// Two pipeline stages. The first parameter, a matrix of the first one, has a copy on the second.
inline void pipeline(Scenario& s) {
  summing_owner(s);
  one_tensor_rank(s);
  uses(s, {Producer::fused});
  s.stages = 2;
  for (ScenarioParameter& p : s.parameters) {
    p.tied_to = -1;
    p.stage = std::min(p.stage, 1);
  }
  ScenarioParameter& first = s.parameters.front();
  first.expert = false;
  first.stage = 0;
  ScenarioParameter copy = first;
  copy.name += ".copy";
  copy.stage = 1;
  copy.tied_to = 0;
  s.uses.push_back({static_cast<std::int32_t>(s.parameters.size()), Producer::fused, -1});
  s.parameters.push_back(copy);
}

/// The first parameter is an expert's, reduced over fewer ranks than the dense ones.
inline void expert(Scenario& s, std::int32_t group) {
  matrix(s);
  used(s);
  if (s.ranks % (2 * group) != 0) s.ranks = 2 * group;
  s.expert_parallel = s.ranks / group;
  s.parameters.front().expert = true;
  s.parameters.front().sequence_parallel = false;
  if (std::none_of(s.uses.begin(), s.uses.end(), [](const ScenarioUse& use) { return use.parameter == 0; })) {
    s.uses.push_back({0, Producer::fused, -1});
  }
  fusing_owner(s);
  writing(s);
}
/// Silences and token counts of ranks and microbatches that are not there any more go.
inline void repair(Scenario& s) {
  std::erase_if(s.silent, [&](const Silence& x) {
    return x.rank >= s.ranks || x.microbatch >= s.microbatches || x.step >= s.steps;
  });
  std::erase_if(s.token_counts,
                [&](const TokenCount& x) { return x.rank >= s.ranks || x.microbatch >= s.microbatches; });
  if (s.ranks % s.expert_parallel != 0) s.expert_parallel = 1;
  if (!allows_outer(s.strategy) || s.ranks % (s.expert_parallel * s.outer) != 0) s.outer = 1;
  if (s.outer == 1 || s.strategy == Strategy::fsdp2 || !has_leases(s.strategy))
    s.outer_mode = OuterMode::replicate;
  if (s.strategy != Strategy::fsdp2) s.sync = Sync::every;
  if (s.strategy != Strategy::fsdp2 || s.outer == 1) s.outer_sync = Sync::last;
  if (!has_reshard(s)) s.reshard = Reshard::after_forward;
  s.offload &= allows_offload(s.strategy);
  mend_loop(s);
  mend_calls(s);
  s.staging &= allows_staging(s);
}

}  // namespace shardcheck::prepare
