// Faults in the life of a destination: zeroing, leases, slots and the shard that the reduced gradient is
// added to.
#include "sim/faults/kinds.h"
#include "sim/faults/loop_prepare.h"

namespace shardcheck {
namespace {

bool is_zero(const PlanEdit& edit, const Op& op, BufferRole role) {
  return op.why.purpose == Purpose::zero && std::holds_alternative<Fill>(op.action) &&
         edit.role(op, 0) == role;
}

bool erase_zeroing(Planned& planned, int first_step, int last_step) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const bool destination = is_zero(edit, op, BufferRole::main_grad) || is_zero(edit, op, BufferRole::shard);
    if (destination && op.why.step >= first_step && op.why.step <= last_step) edit.erase(i);
  }
  return edit.commit();
}
bool never_zeroed_at_first(Planned& planned, const Scenario&) {
  return erase_zeroing(planned, 0, 0);
}
bool not_zeroed_again(Planned& planned, const Scenario&) {
  return erase_zeroing(planned, 1, 1 << 14);
}

bool untouched_range_left(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_zero(edit, edit.op(i), BufferRole::lease_slot)) edit.erase(i);
  }
  return edit.commit();
}

/// The getter hands out new storage when the destination is fetched again after the write.
bool getter_forgets(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  Op opened{};
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (std::holds_alternative<OpenLease>(op.action)) opened = op;
    const bool writes = std::holds_alternative<Gemm>(op.action) && edit.role(op, 2) == BufferRole::lease_slot;
    if (writes && opened.ranks > 0) edit.insert_after(i, opened);
    if (writes) opened = Op{};
  }
  return edit.commit();
}

/// The producer fetched its destination early and writes it when the pool has taken it back.
bool late_write(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  Op write{};
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (std::holds_alternative<Gemm>(op.action) && edit.role(op, 2) == BufferRole::lease_slot) write = op;
    if (!std::holds_alternative<CloseLease>(op.action) || write.ranks == 0) continue;
    edit.insert_after(i, write);
    write = Op{};
  }
  return edit.commit();
}

/// Nothing makes the writer wait for the reduction that still reads the slot.
bool slot_not_fenced(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i + 1 < edit.size(); ++i) {
    const bool waits =
        std::holds_alternative<Wait>(edit.op(i).action) && edit.op(i).stream == Stream::compute;
    if (waits && std::holds_alternative<OpenLease>(edit.op(i + 1).action)) edit.erase(i);
  }
  return edit.commit();
}

/// The pool waits for the reduction while its own stream is the current one, which orders no writer.
bool waited_on_the_wrong_stream(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i + 1 < edit.size(); ++i) {
    const bool waits =
        std::holds_alternative<Wait>(edit.op(i).action) && edit.op(i).stream == Stream::compute;
    if (waits && std::holds_alternative<OpenLease>(edit.op(i + 1).action))
      edit.change(i).stream = Stream::reduce;
  }
  return edit.commit();
}

/// The slot is freed on the default stream, whatever the stream that still reads it.
bool freed_on_the_default_stream(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const bool frees = std::holds_alternative<CloseLease>(edit.op(i).action);
    if (frees && edit.op(i).stream == Stream::reduce) edit.change(i).stream = Stream::compute;
  }
  return edit.commit();
}

/// The optimizer runs beside the gradients' last collective, and zeroing does not wait for it.
bool consumer_not_awaited(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (op.why.purpose == Purpose::consume || std::holds_alternative<Finish>(op.action))
      edit.change(i).stream = Stream::reduce;
  }
  return edit.commit();
}

bool is_accumulation(const Op& op) {
  return op.why.purpose == Purpose::accumulate && std::holds_alternative<Add>(op.action);
}

bool copied_onto_shard(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_accumulation(edit.op(i)) && edit.op(i).why.microbatch > 0) edit.change(i).action = Copy{};
  }
  return edit.commit();
}

/// With one rank the reduced result is the running buffer itself: b = 2 b + g.
bool alias_doubling(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!is_accumulation(op) || op.why.microbatch == 0) continue;
    if (edit.view(op, 1).numel == 0) continue;
    edit.insert_before(
        i, edit.with_views(op, 2, [&](std::int8_t, std::int32_t r) { return edit.view(edit.op(i), 1, r); }));
  }
  return edit.commit();
}

bool accumulated_twice(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_accumulation(edit.op(i))) edit.insert_after(i, edit.op(i));
  }
  return edit.commit();
}

/// Every backward is taken for the last one of a step, and the accumulator starts afresh.
bool accumulator_reset(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::vector<Op> zeroing;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (std::holds_alternative<BeginStep>(op.action)) zeroing.clear();
    if (is_zero(edit, op, BufferRole::shard)) zeroing.push_back(op);
    if (!std::holds_alternative<BeginMicrobatch>(op.action) || op.why.microbatch == 0) continue;
    for (const Op& zero : zeroing) edit.insert_after(i, zero);
  }
  return edit.commit();
}

/// A group counts gradients up to the number of its parameters: with one that nobody uses it is never full.
bool never_full(Planned& planned, const Scenario& s) {
  if (s.strategy != Strategy::fsdp_v2 || s.silent.empty()) return false;
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const bool reduces = op.why.purpose == Purpose::scale || op.why.purpose == Purpose::reduce ||
                         op.why.purpose == Purpose::reduce_outer || op.why.purpose == Purpose::accumulate;
    if (reduces || is_zero(edit, op, BufferRole::lease_slot) || std::holds_alternative<CloseLease>(op.action))
      edit.erase(i);
  }
  return edit.commit();
}

void persistent_fused(Scenario& s) {
  prepare::persistent(s);
  prepare::fused(s);
}
void persistent_two_steps(Scenario& s) {
  persistent_fused(s);
  prepare::two_steps(s);
}
void lease_fused(Scenario& s) {
  prepare::leases(s);
  prepare::fused(s);
  if (s.write_mode == WriteMode::r6) s.write_mode = WriteMode::r5;
}
/// Reduced in backward on its own stream, and nothing is scaled after that.
void persistent_overlap(Scenario& s) {
  persistent_two_steps(s);
  s.strategy = Strategy::fsdp_optim;
  s.overlap = true;
  s.loss = Loss::mean;
  s.scaling = Scaling::before;
  s.comm = s.main_grad;
  prepare::two_ranks(s);
}
void lease_silent(Scenario& s) {
  lease_fused(s);
  s.silent.push_back({0, -1, 0, 0});
}
void unused_in_group(Scenario& s) {
  loop_prepare::unfused_owner(s, Strategy::fsdp_v2);
  s.fp8.reset();
  const std::int32_t last = prepare::twin(s);
  s.uses.push_back({last, Producer::unfused, -1});
  s.silent.push_back({.parameter = last});
}
void lease_two_microbatches(Scenario& s) {
  lease_fused(s);
  prepare::two_microbatches(s);
}
void lease_group_of_one(Scenario& s) {
  lease_two_microbatches(s);
  prepare::expert(s, 1);
}
void lease_overlap(Scenario& s) {
  lease_fused(s);
  s.overlap = true;
  s.slots = 1;
  prepare::twin_in_another_unit(s, Producer::fused);
}

}  // namespace

void add_lease_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"B-07", "ServiceNow/Fast-LLM#551",
           "the reduced gradient is copied over the shard instead of added", "W26", lease_two_microbatches,
           copied_onto_shard},
          {"B-10b", "Megatron-LM moe/experts.py (read)",
           "the getter is called again and hands out fresh storage", "W18", lease_fused, getter_forgets},
          {"B-28", "NVIDIA/Megatron-LM#5222 (K14)",
           "the next unit writes a slot that the reduce-scatter still reads", "W33", lease_overlap,
           slot_not_fenced},
          {"B-29", "NVIDIA/Megatron-LM#6187; pytorch/pytorch#180889 (B-27)",
           "a slot is freed on the default stream while the reduction still reads it", "W34", lease_overlap,
           freed_on_the_default_stream},
          {"B-31", "Megatron-FSDP param_and_grad_buffer.py:_enforce_double_buffer_limit (read)",
           "the pool waits for a slot's reduction on the stream of reductions, not on the writer's", "W33",
           lease_overlap, waited_on_the_wrong_stream},
          {"B-34", "NVIDIA/Megatron-LM#6660 (K04)",
           "in a group of one the reduced result is the running buffer, which doubles every microbatch",
           "W26", lease_group_of_one, alias_doubling},
          {"B-43", "allenai/open-instruct#1498 (K07)",
           "every backward is taken for an accumulation boundary, only the last survives", "W2",
           lease_two_microbatches, accumulator_reset},
          {"B-44", "deepspeedai/DeepSpeed#545",
           "a parameter without a use leaves undefined bytes in a bucket that is reduced", "W7", lease_silent,
           untouched_range_left},
          {"B-50", "NVIDIA/Megatron-LM#7166",
           "a group with an unused parameter never counts as full, and is not reduced", "W8", unused_in_group,
           never_full},
          {"B-54", "Megatron-FSDP param_and_grad_buffer.py:reduce_gradients (read)",
           "a parameter that fires twice has its bucket accumulated again", "W26", lease_fused,
           accumulated_twice},
          {"B-58", "Megatron-LM param_and_grad_buffer.py (read)",
           "the accumulator is uninitialised until the first zeroing", "W6", persistent_fused,
           never_zeroed_at_first},
          {"M-W3", "ours: no public report", "bytes that nobody defined reach the consumer", "W3",
           lease_silent, untouched_range_left},
          {"M-W6", "ours: zero_grad left out, as in K07's family",
           "the gradients of the last step are not zeroed", "W6", persistent_two_steps, not_zeroed_again},
          {"M-E8", "ours: edge E8 of wgrad 6.2 left out",
           "the next step zeroes gradients that the optimizer is still reading on another stream", "W6",
           persistent_overlap, consumer_not_awaited},
          {"M-W19", "ours: TransformerEngine's delayed path captures the pointer early",
           "a late write lands in storage that the pool has taken back", "W19", lease_fused, late_write},
      });
}

}  // namespace shardcheck
