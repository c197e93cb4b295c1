// Faults of the scale: in the wrong place, of the wrong group, too often or not at all.
#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"

namespace shardcheck {
namespace {

bool is_scale(const Op& op) {
  return op.why.purpose == Purpose::scale && std::holds_alternative<Scale>(op.action);
}

/// The loss scale hits the running shard instead of the new contribution.
bool running_shard_scaled(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  Op scale{};
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (is_scale(op)) {
      scale = op;
      edit.erase(i);
    }
    if (op.why.purpose != Purpose::accumulate || scale.ranks == 0) continue;
    edit.insert_before(i, edit.with_views(scale, 1, [&](std::int8_t, std::int32_t r) {
      return edit.view(edit.op(i), 1, r);
    }));
    scale = Op{};
  }
  return edit.commit();
}

/// The whole persistent buffer is scaled at the end of every microbatch.
bool accumulated_scaled(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const bool begins = std::holds_alternative<BeginMicrobatch>(op.action) && op.why.microbatch > 0;
    if (!begins) continue;
    for (std::size_t b = 0; b < edit.plan().buffers.size(); ++b) {
      const Buffer& buffer = edit.plan().buffers[b];
      if (buffer.role != BufferRole::main_grad) continue;
      const View all{BufferId{static_cast<std::int32_t>(b)}, 0, buffer.numel};
      Op scale = edit.with_views(op, 1, [&](std::int8_t, std::int32_t) { return all; });
      scale.action = Scale{0.5f};
      scale.why.purpose = Purpose::scale;
      edit.insert_after(i, scale);
    }
  }
  return edit.commit();
}

/// Experts are averaged over their own group instead of over all data-parallel ranks.
bool expert_divisor(Planned& planned, const Scenario& s) {
  PlanEdit edit(planned);
  const auto factor = static_cast<float>(s.expert_parallel);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!is_scale(edit.op(i))) continue;
    const View scaled = edit.view(edit.op(i), 0);
    for (const Placement& p : edit.plan().placements) {
      const bool of_first = p.parameter.value == 0 && p.view.buffer == scaled.buffer &&
                            p.view.offset >= scaled.offset && p.view.offset < scaled.offset + scaled.numel;
      if (!of_first) continue;
      std::get<Scale>(edit.change(i).action).factor *= factor;
      break;
    }
  }
  return edit.commit();
}

/// The scale of mean loss is left out everywhere.
bool never_scaled(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_scale(edit.op(i))) edit.erase(i);
  }
  return edit.commit();
}

bool scaled_twice(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_scale(edit.op(i))) edit.insert_after(i, edit.op(i));
  }
  return edit.commit();
}

/// Token division by the tokens of one rank instead of all.
bool local_tokens(Planned& planned, const Scenario& s) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (edit.op(i).why.purpose != Purpose::divide) continue;
    std::get<Scale>(edit.change(i).action).factor *= static_cast<float>(s.ranks);
  }
  return edit.commit();
}

void mean_before(Scenario& s) {
  s.loss = Loss::mean;
  s.scaling = Scaling::before;
  if (s.ranks < 2 || (s.ranks & (s.ranks - 1)) != 0) s.ranks = s.ranks < 4 ? 2 : 4;
  prepare::repair(s);
}
void mean_in_lease(Scenario& s) {
  prepare::leases(s);
  prepare::fused(s);
  prepare::two_microbatches(s);
  mean_before(s);
}
void persistent_two_microbatches(Scenario& s) {
  prepare::persistent(s);
  prepare::fused(s);
  prepare::two_microbatches(s);
}
void mean_expert(Scenario& s) {
  prepare::persistent(s);
  prepare::expert(s, 2);
  s.ranks = 4;
  s.expert_parallel = 2;
  mean_before(s);
}
void average_expert(Scenario& s) {
  mean_expert(s);
  s.scaling = Scaling::in_collective;
}
void mean_fused(Scenario& s) {
  prepare::reference(s);
  prepare::fused(s);
  mean_before(s);
}
void per_token(Scenario& s) {
  mean_fused(s);
  s.loss = Loss::per_token;
  s.token_counts.clear();
  s.tokens = 1;
  s.microbatches = s.microbatches >= 3 ? 4 : 2;
}

}  // namespace

void add_scale_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"B-33", "NVIDIA/Megatron-LM#3023",
           "the scale is applied to the running shard, the new contribution stays unscaled", "W25",
           mean_in_lease, running_shard_scaled},
          {"B-35", "NVIDIA/Megatron-LM#6773, pytorch/torchtitan#1733 (B-38)",
           "the whole persistent buffer is rescaled in every microbatch", "W25", persistent_two_microbatches,
           accumulated_scaled},
          {"B-39", "NVIDIA/Megatron-LM#5956 (K09)",
           "expert gradients are scaled by 1/expert-DP instead of 1/DP", "W24", mean_expert, expert_divisor},
          {"B-40", "Megatron-FSDP gradient_reduce_preprocessing (read)",
           "an averaging collective forgets the experts' pre-factor", "W24", average_expert, never_scaled},
          {"B-46", "NVIDIA/Megatron-LM#2417, #3159 (K08)",
           "per-token loss is divided by the tokens of one rank", "W24", per_token, local_tokens},
          {"K09", "deepspeedai/DeepSpeed#6546, #5618",
           "the divisor is left out: a sum where a mean was agreed", "W24", mean_fused, never_scaled},
          {"M-W24", "ours: no public report", "the scale is applied twice", "W24", mean_fused, scaled_twice},
      });
}

}  // namespace shardcheck
