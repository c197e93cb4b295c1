// Faults of order: one required edge of wgrad 6.2 is left out, and no other. What the two sides do stays as
// it was; only the event between their streams is missing. The edges that other entries of the zoo leave out:
// E1 B-32, E2 B-28, E6 B-29, E7 M-W23, E8 M-E8, E10 M-F46b.
#include <map>
#include <set>

#include "sim/faults/kinds.h"
#include "sim/faults/loop_prepare.h"
#include "sim/faults/weight_ops.h"

namespace shardcheck {
namespace {

bool is_on(const Op& op, Stream stream) {
  return op.stream == stream;
}
bool is_accumulation(const Op& op) {
  return op.why.purpose == Purpose::accumulate;
}

/// `waiting` waits for what `recorded` has been given so far: a record and a wait on the ranks of `like`.
struct Fence {
  Op record, wait;
};
Fence fence(Planned& planned, const Op& like, Stream recorded, Stream waiting) {
  const EventId event{planned.plan.events++};
  Op op = like;
  op.operands = 0;
  op.why.purpose = Purpose::none;
  Fence fence{op, op};
  fence.record.action = Record{event};
  fence.record.stream = recorded;
  fence.wait.action = Wait{event};
  fence.wait.stream = waiting;
  return fence;
}

/// E3: the reduction runs beside the stream that accumulates, which takes its result without waiting.
bool accumulated_beside(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    const bool reduces = op.why.purpose == Purpose::scale || op.why.purpose == Purpose::reduce;
    if (reduces) edit.change(i).stream = Stream::compute;
    if (!is_accumulation(op)) continue;
    const Fence later = fence(planned, op, Stream::compute, Stream::reduce);
    edit.insert_after(i, later.record);
    edit.insert_after(i, later.wait);
  }
  return edit.commit();
}

/// E4: the last microbatch of a step reduces and accumulates on the compute stream, while the one before it
/// may still be at it on the other.
bool last_one_synchronous(Planned& planned, const Scenario& s) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const bool moves = op.why.purpose == Purpose::scale || op.why.purpose == Purpose::reduce ||
                       is_accumulation(op) || std::holds_alternative<CloseLease>(op.action);
    if (moves && op.why.microbatch == s.microbatches - 1) edit.change(i).stream = Stream::compute;
    const bool waits = std::holds_alternative<Wait>(op.action) && is_on(op, Stream::compute);
    if (waits && op.why.microbatch == s.microbatches - 2) edit.erase(i);
  }
  return edit.commit();
}

/// E5: the outer reduction does not wait for the stream that accumulates.
bool outer_not_fenced(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (edit.op(i).why.purpose == Purpose::reduce_outer) edit.change(i).stream = Stream::compute;
  }
  return edit.commit();
}

/// Moves an op to the reduce stream, which waits for what comes before it; nobody waits for the op.
void put_beside(PlanEdit& edit, Planned& planned, std::int32_t index) {
  const Fence before = fence(planned, edit.op(index), Stream::compute, Stream::reduce);
  edit.insert_before(index, before.record);
  edit.insert_before(index, before.wait);
  edit.change(index).stream = Stream::reduce;
}

/// E9: the destination is zeroed on another stream than the first write's.
bool zeroed_beside(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (op.why.purpose == Purpose::zero && edit.role(op, 0) == BufferRole::main_grad)
      put_beside(edit, planned, i);
  }
  return edit.commit();
}

/// E11: a weight is gathered again while products may still read what the last gather brought.
bool gathered_over_readers(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::map<std::pair<BufferId, std::int64_t>, std::int32_t> step_of;  // codes of a bucket: last gathered in
  std::int32_t wait = -1;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (std::holds_alternative<Wait>(op.action) && is_on(op, Stream::reduce)) wait = i;
    if (!weight_ops::is_gather(edit, op)) continue;
    const View whole = edit.view(op, 1);
    const auto [known, is_new] = step_of.try_emplace({whole.buffer, whole.offset}, op.why.step);
    if (!is_new && known->second == op.why.step && wait == i - 1) edit.erase(wait);
    known->second = op.why.step;
  }
  return edit.commit();
}

/// The same of rows that FSDP2 copies out.
bool gathered_over_copies(Planned& planned, const Scenario& s) {
  return s.strategy == Strategy::fsdp2 && gathered_over_readers(planned, s);
}

/// E12: what a delayed write reads is given back when the data gradient has been computed.
bool inputs_freed_early(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!std::holds_alternative<Gemm>(op.action) || edit.role(op, 2) == BufferRole::param_grad) continue;
    Op freed = edit.with_views(op, 1, [&](std::int8_t, std::int32_t r) { return edit.view(op, 1, r); });
    freed.action = Undefine{};
    freed.why.purpose = Purpose::none;
    freed.stream = Stream::reduce;
    edit.insert_after(i, freed);
  }
  return edit.commit();
}

/// E13: the placeholder is zeroed on another stream than where autograd adds it.
bool placeholder_zeroed_beside(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (std::holds_alternative<Fill>(op.action) && edit.role(op, 0) == BufferRole::placeholder)
      put_beside(edit, planned, i);
  }
  return edit.commit();
}

/// E14: a lease is given back on the compute stream, which waits for its reduction and not for the move of
/// the result to the host that comes after it; so does the next lease of that slot.
bool freed_under_its_move(Planned& planned, const Scenario& s) {
  if (!s.offload) return false;
  PlanEdit edit(planned);
  std::int32_t move = -1;  // of the lease that is closed next
  for (std::int32_t i = 0; i + 1 < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (is_accumulation(op) && edit.plan().buffer(edit.view(op, 1).buffer).on_host) move = i;
    const bool waits = std::holds_alternative<Wait>(op.action) && is_on(op, Stream::compute);
    if (waits && std::holds_alternative<OpenLease>(edit.op(i + 1).action)) edit.erase(i);
    const bool closes = std::holds_alternative<CloseLease>(op.action) && is_on(op, Stream::reduce);
    if (!closes || move < 0) continue;
    const Fence reduced = fence(planned, op, Stream::reduce, Stream::compute);
    edit.insert_before(move, reduced.record);
    edit.insert_before(i, reduced.wait);
    edit.change(i).stream = Stream::compute;
    move = -1;
  }
  return edit.commit();
}

bool takes_weights_out(PlanEdit& edit, const Op& op) {
  return op.why.purpose == Purpose::weights && std::holds_alternative<Copy>(op.action) &&
         edit.role(op, 0) == BufferRole::main_grad;
}

/// E15, first link: weights are taken out of the gradient buffer before the gather has brought them.
bool taken_out_early(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 1; i < edit.size(); ++i) {
    const bool waits = std::holds_alternative<Wait>(edit.op(i - 1).action);
    if (waits && takes_weights_out(edit, edit.op(i))) edit.erase(i - 1);
  }
  return edit.commit();
}

/// E15, second link: the buffer is zeroed on the stream of the gather, which does not wait for the copy out.
/// The first write waits for the zeros.
bool cleaned_beside(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 1; i < edit.size(); ++i) {
    if (!takes_weights_out(edit, edit.op(i - 1))) continue;
    edit.change(i).stream = Stream::reduce;
    const Fence later = fence(planned, edit.op(i), Stream::reduce, Stream::compute);
    edit.insert_after(i, later.record);
    edit.insert_after(i, later.wait);
  }
  return edit.commit();
}

/// E17: the writer does not wait for the fill of its lease.
bool fill_not_fenced(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i + 2 < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const bool fills = op.why.purpose == Purpose::zero && is_on(op, Stream::reduce);
    if (fills && std::holds_alternative<Wait>(edit.op(i + 2).action)) edit.erase(i + 2);
  }
  return edit.commit();
}

/// E16: the owner launches without a wait for the replays that write its bucket.
bool replays_not_awaited(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::set<EventId> of_replays;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const auto* record = std::get_if<Record>(&op.action);
    if (record != nullptr && is_on(op, Stream::graph)) of_replays.insert(record->event);
    const auto* wait = std::get_if<Wait>(&op.action);
    const bool is_owners = op.why.parameter.value >= 0 && op.why.use < 0;
    if (wait != nullptr && is_owners && of_replays.contains(wait->event)) edit.erase(i);
  }
  return edit.commit();
}

/// The first parameter is dense and fused, and there are two ranks and nothing in FP8.
void plain(Scenario& s) {
  s.fp8.reset();
  prepare::two_ranks(s);
  prepare::fused(s);
  s.parameters.front().expert = false;
  s.outer = 1;
  s.outer_mode = OuterMode::replicate;
}
void lease_overlap(Scenario& s) {
  prepare::leases(s);
  prepare::fusing_owner(s);
  plain(s);
  if (s.write_mode == WriteMode::r6) s.write_mode = WriteMode::r5;
  s.overlap = true;
  prepare::repair(s);
}
void persistent_overlap(Scenario& s) {
  prepare::persistent(s);
  prepare::fusing_owner(s);
  plain(s);
  s.overlap = true;
  s.zeroing = true;
  prepare::repair(s);
}
/// One lease a microbatch, and the next one in another slot. The first gradient of a step replaces what the
/// shard held, so that the order of the two shows.
void lone_lease(Scenario& s) {
  lease_overlap(s);
  s.microbatches = 2;
  s.zeroing = false;
  s.parameters.resize(1);
  s.uses = {{.parameter = 0}};
  std::erase_if(s.silent, [](const Silence& silence) { return silence.parameter != 0; });
  s.slots = 2;
  prepare::repair(s);
}
void hybrid(Scenario& s) {
  lease_overlap(s);
  s.ranks = 4;
  s.expert_parallel = 1;
  s.outer = 2;
  prepare::repair(s);
}
void regathered(Scenario& s) {
  prepare::fp8_shards(s, "te-current");
  s.overlap = true;
}
void regathered_rows(Scenario& s) {
  prepare::fp8_rows(s, "te-current");
  s.reshard = Reshard::after_forward;
  s.overlap = true;
}
void delayed(Scenario& s) {
  persistent_overlap(s);
  s.execution = Execution::delayed;
}
/// Of one weight: a use of another that returns its gradient would wait for all replays before it.
void replayed(Scenario& s) {
  persistent_overlap(s);
  s.execution = Execution::graph;
  s.parameters.resize(1);
  s.uses = {{.parameter = 0}};
  std::erase_if(s.silent, [](const Silence& silence) { return silence.parameter != 0; });
  prepare::repair(s);
}
void mixed(Scenario& s) {
  persistent_overlap(s);
  prepare::uses(s, {Producer::fused, Producer::unfused});
}
/// Two units, whose leases lie in one slot.
void offloaded(Scenario& s) {
  loop_prepare::unfused_owner(s, Strategy::fsdp2);
  s.fp8.reset();
  prepare::two_ranks(s);
  s.expert_parallel = 1;
  for (ScenarioParameter& p : s.parameters) p.expert = false;
  prepare::twin_in_another_unit(s, Producer::unfused);
  s.overlap = s.offload = true;
  s.slots = 1;
  prepare::repair(s);
}
void staged_overlap(Scenario& s) {
  prepare::one_stage(s);
  prepare::one_tensor_rank(s);
  s.strategy = Strategy::megatron_ddp_zero1;
  persistent_overlap(s);
  s.staging = true;
}
void filled_lease(Scenario& s) {
  lease_overlap(s);
  s.write_mode = WriteMode::r6;
}

}  // namespace

void add_edge_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"M-E3", "ours: edge E3 of wgrad 6.2 left out",
           "the shard takes a reduced gradient that is not there yet", "W23", lease_overlap,
           accumulated_beside},
          {"M-E4", "ours: edge E4 of wgrad 6.2 left out",
           "two microbatches are added to the shard at the same time", "W23", lone_lease,
           last_one_synchronous},
          {"M-E5", "ours: edge E5 of wgrad 6.2 left out",
           "the outer reduction reads a shard that the last microbatch is still added to", "W21", hybrid,
           outer_not_fenced},
          {"M-E9", "ours: edge E9 of wgrad 6.2 left out", "the gradient buffer is zeroed while it is written",
           "W4", persistent_overlap, zeroed_beside},
          {"M-E11", "ours: edge E11 of wgrad 6.2 left out",
           "a weight is gathered again while products read it", "F46", regathered, gathered_over_readers},
          {"M-E11b", "ours: edge E11 of wgrad 6.2 left out, under FSDP2",
           "rows are gathered again while those of the last gather are copied out", "F46", regathered_rows,
           gathered_over_copies},
          {"M-E12", "ours: edge E12 of wgrad 6.2 left out",
           "the input of a delayed write is given back before the write has read it", "W34", delayed,
           inputs_freed_early},
          {"M-E13", "ours: edge E13 of wgrad 6.2 left out", "the placeholder is added before it is zero",
           "W14", mixed, placeholder_zeroed_beside},
          {"M-E14", "pytorch/pytorch#180665 (B-27)",
           "a reduced gradient is moved to the host from storage that another layer has already", "W34",
           offloaded, freed_under_its_move},
          {"M-E15", "ours: edge E15 of wgrad 6.2 left out, between gather and copy",
           "staged weights are taken out of the gradient buffer before the gather has brought them", "W36",
           staged_overlap, taken_out_early},
          {"M-E15b", "ours: edge E15 of wgrad 6.2 left out, between copy and zeros",
           "the gradient buffer is zeroed while staged weights are taken out of it", "W36", staged_overlap,
           cleaned_beside},
          {"M-E16", "ours: edge E16 of wgrad 6.2 left out",
           "the reduction does not wait for the replay that writes the gradient", "W35", replayed,
           replays_not_awaited},
          {"M-E17", "ours: edge E17 of wgrad 6.2 left out",
           "the fill of a lease erases the gradient that was written into it", "W4", filled_lease,
           fill_not_fenced},
      });
}

}  // namespace shardcheck
