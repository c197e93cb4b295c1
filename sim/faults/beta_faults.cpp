// Faults of the write itself: a beta taken from a proxy, a write that is missing, doubled or late.
#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"

namespace shardcheck {
namespace {

bool is_fused_write(const PlanEdit& edit, const Op& op) {
  if (!std::holds_alternative<Gemm>(op.action)) return false;
  return edit.role(op, 2) == BufferRole::main_grad || edit.role(op, 2) == BufferRole::lease_slot;
}

/// Gives every fused write that `select` picks another beta, as if `rule` had chosen it.
template <class Select>
bool set_beta(Planned& planned, bool accumulate, BetaRule rule, Select select) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!is_fused_write(edit, edit.op(i)) || !select(edit.op(i))) continue;
    if (std::get<Gemm>(edit.op(i).action).accumulate == accumulate) continue;
    Op& op = edit.change(i);
    std::get<Gemm>(op.action).accumulate = accumulate;
    op.why.rule = rule;
  }
  return edit.commit();
}

bool any(const Op&) {
  return true;
}
bool first_parameter(const Op& op) {
  return op.why.parameter.value == 0;
}

bool call_order(Planned& planned, const Scenario&) {
  return set_beta(planned, false, BetaRule::call_order, [](const Op& op) {
    return first_parameter(op) && op.why.microbatch == 0 && op.why.use == 0;
  });
}
bool overwrite_persistent(Planned& planned, const Scenario&) {
  return set_beta(planned, false, BetaRule::strategy_flag, any);
}
bool overwrite_one_layer(Planned& planned, const Scenario&) {
  return set_beta(planned, false, BetaRule::constant, first_parameter);
}
bool captured_overwrite(Planned& planned, const Scenario&) {
  return set_beta(planned, false, BetaRule::captured, first_parameter);
}
bool accumulate_on_lease(Planned& planned, const Scenario&) {
  return set_beta(planned, true, BetaRule::constant, first_parameter);
}
bool flag_of_neighbour(Planned& planned, const Scenario&) {
  return set_beta(planned, true, BetaRule::other_parameter, first_parameter);
}
bool overwrite_by_index(Planned& planned, const Scenario&) {
  return set_beta(planned, false, BetaRule::microbatch_index,
                  [](const Op& op) { return first_parameter(op) && op.why.microbatch == 0; });
}

bool missing_write(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_fused_write(edit, edit.op(i)) && first_parameter(edit.op(i))) edit.erase(i);
  }
  return edit.commit();
}

/// The gradient goes to another object: no write, no flag, nothing for autograd.
bool no_gradient(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const bool signals = std::holds_alternative<Flag>(op.action) ||
                         std::holds_alternative<Return>(op.action) || std::holds_alternative<Hook>(op.action);
    if (first_parameter(op) && (signals || is_fused_write(edit, op))) edit.erase(i);
  }
  return edit.commit();
}

bool doubled_write(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const bool first = first_parameter(edit.op(i)) && edit.op(i).why.microbatch == 0;
    if (!first || !is_fused_write(edit, edit.op(i))) continue;
    Op again = edit.op(i);
    std::get<Gemm>(again.action).accumulate = true;
    edit.insert_after(i, again);
  }
  return edit.commit();
}

/// The empty GEMM returns without touching its output, whose bytes nobody had defined.
bool empty_gemm_skipped(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (!is_fused_write(edit, op)) continue;
    const Gemm& gemm = std::get<Gemm>(op.action);
    if (gemm.tokens != 0 || gemm.accumulate) continue;
    Op nothing =
        edit.with_views(op, 1, [&](std::int8_t, std::int32_t r) { return edit.view(edit.op(i), 2, r); });
    nothing.action = Undefine{};
    edit.change(i) = nothing;
  }
  return edit.commit();
}

void persistent_fused(Scenario& s) {
  prepare::persistent(s);
  prepare::fused(s);
}
void persistent_two_microbatches(Scenario& s) {
  persistent_fused(s);
  prepare::two_microbatches(s);
}
void repeated_layer(Scenario& s) {
  prepare::persistent(s);
  prepare::uses(s, {Producer::fused, Producer::fused});
}
void one_fused_in_lease(Scenario& s) {
  prepare::leases(s);
  prepare::fused(s);
  if (s.write_mode == WriteMode::r6) s.write_mode = WriteMode::r5;
}
void empty_in_lease(Scenario& s) {
  one_fused_in_lease(s);
  s.token_counts.push_back({0, 0, 0});
  std::sort(s.token_counts.begin(), s.token_counts.end(), [](auto& a, auto& b) {
    return std::pair(a.rank, a.microbatch) < std::pair(b.rank, b.microbatch) ||
           (std::pair(a.rank, a.microbatch) == std::pair(b.rank, b.microbatch) && a.tokens < b.tokens);
  });
  const auto same = [](auto& a, auto& b) { return a.rank == b.rank && a.microbatch == b.microbatch; };
  s.token_counts.erase(std::unique(s.token_counts.begin(), s.token_counts.end(), same), s.token_counts.end());
}
void any_fused(Scenario& s) {
  prepare::reference(s);
  prepare::fused(s);
}
void any_two_microbatches(Scenario& s) {
  any_fused(s);
  prepare::two_microbatches(s);
}

}  // namespace

void add_beta_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"B-04", "NVIDIA/Megatron-LM#6965",
           "is_first_microbatch is armed for the first call, so a repeated layer's overwriting call runs "
           "last",
           "W5", repeated_layer, call_order},
          {"B-05", "NVIDIA/Megatron-LM#6279 (review)",
           "an autograd op overwrites in the first microbatch although another use has written already", "W5",
           repeated_layer, overwrite_by_index},
          {"B-08", "NVIDIA/Megatron-LM#6357",
           "the overwrite flag is set for every sharding strategy, persistent ones too", "W4",
           persistent_two_microbatches, overwrite_persistent},
          {"B-09", "Megatron-LM tensor_parallel/layers.py (read)",
           "one linear layer under FSDP always overwrites, also a persistent buffer", "W4",
           persistent_two_microbatches, overwrite_one_layer},
          {"B-12", "NVIDIA/TransformerEngine#2715",
           "a graph captured in the first microbatch replays beta = 0", "W35", persistent_two_microbatches,
           captured_overwrite},
          {"B-11", "Megatron-LM core/utils.py (read)",
           "a deferred embedding gradient is accumulated onto a fresh lease", "W4", one_fused_in_lease,
           accumulate_on_lease},
          {"B-03", "NVIDIA/TransformerEngine#2191 (first version)",
           "a layer with two weights uses the flag of the other one", "W17", one_fused_in_lease,
           flag_of_neighbour},
          {"B-13", "NVIDIA/TransformerEngine#2499, meta-pytorch/MSLK#158",
           "an empty expert leaves its output untouched although beta = 0", "W9", empty_in_lease,
           empty_gemm_skipped},
          {"B-14", "NVIDIA/TransformerEngine#1488 (K02)",
           "the fused GEMM is never executed, the flag says it was", "W11", any_fused, missing_write},
          {"B-15", "NVIDIA/TransformerEngine#3234",
           "no gradient of a single grouped weight reaches its parameter", "W1", persistent_fused,
           no_gradient},
          {"B-22", "NVIDIA/TransformerEngine#1204", "a gradient that is in main_grad already is added again",
           "W2", any_two_microbatches, doubled_write},
      });
}

}  // namespace shardcheck
