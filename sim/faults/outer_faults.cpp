// Faults of the outer reduction of a hybrid mesh (wgrad 3.4, 9.6): never, in every microbatch, or over sums
// that carry no scale. The outer groups' own clause is W29.
#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"

namespace shardcheck {
namespace {

bool is_outer(const Op& op) {
  return op.why.purpose == Purpose::reduce_outer;
}
bool accumulates(const PlanEdit& edit, const Op& op) {
  return op.why.purpose == Purpose::accumulate && edit.role(op, 1) == BufferRole::shard;
}

/// The outer reduction of the same step and shard as `accumulation`, which comes after it; -1: none.
std::int32_t outer_after(PlanEdit& edit, std::int32_t accumulation) {
  const Op& from = edit.op(accumulation);
  for (std::int32_t i = accumulation + 1; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (op.why.step != from.why.step) break;
    if (is_outer(op) && edit.view(op, 0).buffer == edit.view(from, 1).buffer) return i;
  }
  return -1;
}

/// The marker of the last microbatch is always up: the running shard is reduced after every microbatch.
bool reduced_every_microbatch(Planned& planned, bool replaces) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!accumulates(edit, edit.op(i))) continue;
    const std::int32_t outer = outer_after(edit, i);
    if (outer < 0) continue;
    const std::int16_t microbatch = edit.op(i).why.microbatch;
    if (replaces && microbatch > 0) edit.change(i).action = Copy{};
    if (microbatch == edit.op(outer).why.microbatch) continue;
    Op early = edit.op(outer);
    early.why.microbatch = microbatch;
    edit.insert_after(i, early);
  }
  return edit.commit();
}
bool into_a_fresh_buffer(Planned& planned, const Scenario&) {
  return reduced_every_microbatch(planned, true);
}
bool on_the_running_shard(Planned& planned, const Scenario&) {
  return reduced_every_microbatch(planned, false);
}

bool never_over_outer(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_outer(edit.op(i))) edit.erase(i);
  }
  return edit.commit();
}

/// The helper buffer of the inner stage is made without a scale, and the outer stage assumes it was applied.
bool inner_unscaled(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (edit.op(i).why.purpose == Purpose::scale) edit.erase(i);
  }
  return edit.commit();
}

/// A divisor of one's own is applied, and the outer groups are averaged on top of it.
bool divided_once_more(Planned& planned, const Scenario& s) {
  if (s.strategy != Strategy::fsdp2) return false;
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (edit.op(i).why.purpose == Purpose::scale && std::holds_alternative<Scale>(edit.op(i).action))
      std::get<Scale>(edit.change(i).action).factor /= static_cast<float>(s.outer);
  }
  return edit.commit();
}

void rows_of_two_by_two(Scenario& s) {
  prepare::hybrid(s);
  s.strategy = Strategy::fsdp2;
  for (ScenarioUse& use : s.uses) use.producer = Producer::unfused;
  s.loss = Loss::mean;
  s.scaling = Scaling::before;
  prepare::repair(s);
}
void two_by_two(Scenario& s) {
  prepare::hybrid(s);
  prepare::two_microbatches(s);
}
void two_by_two_sharded(Scenario& s) {
  two_by_two(s);
  s.outer_mode = OuterMode::shard;
}
void mean_sharded(Scenario& s) {
  two_by_two_sharded(s);
  s.loss = Loss::mean;
  s.scaling = Scaling::before;
}

}  // namespace

void add_outer_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"B-30", "Megatron-FSDP param_and_grad_buffer.py:_create_hfsdp_helper_buffer (read)",
           "the inner stage of HFSDP sums without a scale, and the outer stage assumes there was one", "W24",
           mean_sharded, inner_unscaled},
          {"B-41", "NVIDIA/Megatron-LM#7186",
           "every backward is taken for the last one: the outer groups finish a fresh buffer each time",
           "W29", two_by_two_sharded, into_a_fresh_buffer},
          {"B-42b", "NVIDIA/Megatron-LM#4891 (hybrid mesh)",
           "the last-microbatch marker is never set, so the outer groups keep their own sums", "W29",
           two_by_two, never_over_outer},
          {"B-47", "pytorch/pytorch#155903",
           "a custom divisor is applied, and the outer groups are averaged on top of it", "W24",
           rows_of_two_by_two, divided_once_more},
          {"M-W29", "ours: wgrad 9.6, an all-reduce after every microbatch",
           "the running shard is reduced over the outer groups after every microbatch", "W29", two_by_two,
           on_the_running_shard},
      });
}

}  // namespace shardcheck
