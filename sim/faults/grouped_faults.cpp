// Faults of layers with several experts: one call over several weights (wgrad 4.1, Q9), several experts in
// one weight (Q10). The first parameter is the first expert of its call, the last parameter the other one.
#include <algorithm>
#include <string>

#include "sim/faults/fused_writes.h"
#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"
#include "sim/producers/beta.h"

namespace shardcheck {

using namespace fused_writes;

namespace {

/// The call that the faults speak of is there; a smaller case may have lost it.
bool has_call(const Scenario& s) {
  const std::int32_t last = static_cast<std::int32_t>(s.parameters.size()) - 1;
  return last > 0 && std::ranges::count(call_mates(s, 0), last) > 0;
}
bool holds_several(const Scenario& s) {
  return s.parameters.front().groups > 1;
}

bool is_expert(const PlanEdit& edit, const Op& op) {
  const auto last = static_cast<std::int32_t>(edit.plan().parameters.size()) - 1;
  return op.why.parameter.value == 0 || op.why.parameter.value == last;
}

/// Gives the writes of the call (the first use of each expert) another beta.
bool set_beta_in_call(Planned& planned, ParamId parameter, Beta beta) {
  return set_beta(planned, beta.accumulate, beta.rule,
                  [&](const Op& op) { return op.why.parameter == parameter && op.why.use == 0; });
}
ParamId last_parameter(const Scenario& s) {
  return ParamId{static_cast<std::int32_t>(s.parameters.size()) - 1};
}

bool flags_swapped(Planned& planned, const Scenario& s) {
  if (!has_call(s)) return false;
  const bool first = set_beta_in_call(planned, ParamId{0}, {true, BetaRule::other_parameter});
  const bool last = set_beta_in_call(planned, last_parameter(s), {false, BetaRule::other_parameter});
  return first || last;
}

bool bit_of_first(Planned& planned, const Scenario& s) {
  if (!has_call(s)) return false;
  return set_beta_in_call(planned, last_parameter(s), {true, BetaRule::other_parameter});
}

bool overwrite_forced_in_forward(Planned& planned, const Scenario& s) {
  if (!has_call(s)) return false;
  const bool first = set_beta_in_call(planned, ParamId{0}, {false, BetaRule::forward_time});
  const bool last = set_beta_in_call(planned, last_parameter(s), {false, BetaRule::forward_time});
  return first || last;
}

bool missing_writes(Planned& planned, const Scenario& s) {
  if (!has_call(s)) return false;
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_fused_write(edit, edit.op(i)) && is_expert(edit, edit.op(i))) edit.erase(i);
  }
  return edit.commit();
}

/// The gradient goes to another object: no write, no flag, nothing for autograd.
bool no_gradient(Planned& planned, const Scenario& s) {
  if (!holds_several(s)) return false;
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const bool signals = std::holds_alternative<Flag>(op.action) ||
                         std::holds_alternative<Return>(op.action) || std::holds_alternative<Hook>(op.action);
    if (first_parameter(op) && (signals || is_fused_write(edit, op))) edit.erase(i);
  }
  return edit.commit();
}

/// The empty GEMM returns without touching its output, whose bytes nobody had defined.
bool empty_gemm_skipped(Planned& planned, const Scenario& s) {
  if (!has_call(s)) return false;
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

/// Where the first of several experts in one weight is written; the weight lies at one place of its bucket.
std::int64_t first_offset(const PlanEdit& edit) {
  std::int64_t first = -1;
  for (const Op& op : edit.plan().ops) {
    if (!is_fused_write(edit, op) || !first_parameter(op)) continue;
    const std::int64_t offset = edit.view(op, 2).offset;
    first = first < 0 ? offset : std::min(first, offset);
  }
  return first;
}

/// The product goes to a temporary; main_grad keeps what it held.
bool destination_cancelled(Planned& planned, const Scenario& s) {
  if (!holds_several(s)) return false;
  PlanEdit edit(planned);
  const std::string name = s.parameters.front().name + ".grad";
  const auto temporary = std::ranges::find(edit.plan().buffers, name, &Buffer::name);
  const BufferId buffer{static_cast<std::int32_t>(temporary - edit.plan().buffers.begin())};
  const std::int64_t first = first_offset(edit);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!is_fused_write(edit, op) || !first_parameter(op)) continue;
    edit.change(i) = edit.with_views(op, 3, [&](std::int8_t operand, std::int32_t r) {
      View view = edit.view(op, operand, r);
      if (operand == 2) view = {buffer, view.offset - first, view.numel};
      return view;
    });
    std::get<Gemm>(edit.op(i).action).accumulate = false;
  }
  return edit.commit();
}

/// The first expert's offset is that of the second one.
bool offset_of_neighbour(Planned& planned, const Scenario& s) {
  if (!holds_several(s)) return false;
  PlanEdit edit(planned);
  const std::int64_t first = first_offset(edit);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!is_fused_write(edit, op) || !first_parameter(op) || edit.view(op, 2).offset != first) continue;
    edit.change(i) = edit.with_views(op, 3, [&](std::int8_t operand, std::int32_t r) {
      View view = edit.view(op, operand, r);
      if (operand == 2) view.offset += view.numel;
      return view;
    });
  }
  return edit.commit();
}

bool one_product_missing(Planned& planned, const Scenario& s) {
  if (!holds_several(s)) return false;
  PlanEdit edit(planned);
  const std::int64_t first = first_offset(edit);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (is_fused_write(edit, op) && first_parameter(op) && edit.view(op, 2).offset == first) edit.erase(i);
  }
  return edit.commit();
}

/// One call writes the first parameter and the last, which is like it. Neither has another use.
void two_experts(Scenario& s) {
  prepare::reference(s);
  prepare::uses(s, {Producer::fused});
  const std::int32_t last = prepare::twin(s);
  std::erase_if(s.token_counts, [&](const TokenCount& count) {
    return count.parameter == last || (count.parameter == 0 && count.group >= 0);
  });
  prepare::uses(s, {Producer::fused});
  s.uses.push_back({last, Producer::fused, -1, true});
}
void two_experts_in_lease(Scenario& s) {
  prepare::leases(s);
  two_experts(s);
  if (s.write_mode == WriteMode::r6) s.write_mode = WriteMode::r5;
}
/// Backward meets the later use first, so that the expert's lease has a contribution when the call writes.
void first_touched_before(Scenario& s) {
  two_experts_in_lease(s);
  s.uses.push_back({0, Producer::fused, -1});
}
void last_touched_before(Scenario& s) {
  two_experts_in_lease(s);
  s.uses.push_back({last_parameter(s).value, Producer::fused, -1});
}
void one_without_tokens(Scenario& s) {
  two_experts_in_lease(s);
  s.token_counts.push_back({.rank = 0, .microbatch = 0, .tokens = 0, .parameter = last_parameter(s).value});
}
void two_experts_of_optim(Scenario& s) {
  prepare::persistent(s);
  s.strategy = Strategy::fsdp_optim;
  two_experts(s);
  prepare::two_microbatches(s);
}
/// The first parameter holds two experts.
void two_in_one(Scenario& s) {
  prepare::reference(s);
  prepare::fused(s);
  s.fp8.reset();
  ScenarioParameter& weight = s.parameters.front();
  if (weight.groups == 1) {
    weight.groups = 2;
    if (weight.rows() % 2 != 0) weight.shape[0] *= 2;
  }
  if (const std::int32_t copy = tied_copy(s, 0); copy >= 0) {
    s.parameters[static_cast<std::size_t>(copy)].groups = weight.groups;
    s.parameters[static_cast<std::size_t>(copy)].shape = weight.shape;
  }
}
void two_in_one_persistent(Scenario& s) {
  prepare::persistent(s);
  two_in_one(s);
}
void two_in_one_lease(Scenario& s) {
  prepare::leases(s);
  two_in_one(s);
  if (s.write_mode == WriteMode::r6) s.write_mode = WriteMode::r5;
}

}  // namespace

void add_grouped_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"B-01", "NVIDIA/TransformerEngine#2936",
           "with the overwrite flag the gradient of a weight of several experts goes to a temporary, and "
           "main_grad is not written",
           "W11", two_in_one_lease, destination_cancelled},
          {"B-03", "NVIDIA/TransformerEngine#2191 (first version)",
           "each of the two weights of a layer is written by the flag of the other one", "W17",
           last_touched_before, flags_swapped},
          {"B-10a", "Megatron-LM moe/experts.py (read)",
           "a hook of grouped experts forces the overwrite flag in forward, also on a persistent buffer",
           "W17", two_experts_of_optim, overwrite_forced_in_forward},
          {"B-13", "NVIDIA/TransformerEngine#2499, meta-pytorch/MSLK#158",
           "the expert of a grouped call that got no tokens leaves its output untouched although beta = 0",
           "W9", one_without_tokens, empty_gemm_skipped},
          {"B-14", "NVIDIA/TransformerEngine#1488 (K02)",
           "the fused GEMMs of a grouped call are never executed, the flags say they were", "W11",
           two_experts, missing_writes},
          {"B-15", "NVIDIA/TransformerEngine#3234",
           "no gradient of a weight of several experts reaches its parameter", "W1", two_in_one_persistent,
           no_gradient},
          {"M-W2", "ours: wgrad 4.1 Q10",
           "the offset of an expert in its weight is off by one, so its gradient lands in the rows of the "
           "next one",
           "W2", two_in_one_persistent, offset_of_neighbour},
          {"M-W11", "ours: wgrad 4.1 Q10", "one of the products of a weight of several experts is missing",
           "W11", two_in_one, one_product_missing},
          {"M-W17", "ours: wgrad 4.1 Q9",
           "the touched bit of the first expert decides for all members of a grouped call", "W17",
           first_touched_before, bit_of_first},
      });
}

}  // namespace shardcheck
