// Faults of the order of additions (W39): replicas that add in orders of their own, and executions that add
// in another order than they promise. Exact sums do not show them, and rounded ones stay within their bounds.
#include <map>
#include <tuple>

#include "core/assert.h"
#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"

namespace shardcheck {
namespace {

/// Room for the addends of all members of a group, in a buffer of its own.
BufferId add_room(PlanEdit& edit, Plan& plan, View addend, std::int32_t group) {
  const BufferId room{static_cast<std::int32_t>(plan.buffers.size())};
  const std::int64_t numel = addend.numel * group;
  plan.buffers.push_back({"gathered." + std::to_string(room.value), BufferRole::staging,
                          plan.buffer(addend.buffer).dtype, numel});
  std::int32_t first = 0;  // an op of all ranks
  while (!std::holds_alternative<Allocate>(edit.op(first).action)) ++first;
  edit.insert_before(first, edit.with_views(edit.op(first), 1, [&](std::int8_t, std::int32_t) {
    return View{room, 0, numel};
  }));
  return room;
}

/// The sums by all-reduce of that purpose are a gather and additions on each rank, which begin with its own
/// addend and go round the group.
bool begins_with_own(Planned& planned, Purpose purpose) {
  PlanEdit edit(planned);
  std::map<std::tuple<std::int32_t, std::int64_t, std::int64_t>, BufferId> rooms;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    const auto* communicate = std::get_if<Communicate>(&op.action);
    if (communicate == nullptr || op.why.purpose != purpose) continue;
    if (communicate->collective != Collective::all_reduce || communicate->reduction != Reduction::sum)
      continue;
    const std::int32_t group = communicate->group;
    const View addend = edit.view(op, 0);
    const auto [known, is_new] = rooms.try_emplace({addend.buffer.value, addend.offset, addend.numel});
    if (is_new) known->second = add_room(edit, planned.plan, addend, group);
    const BufferId room = known->second;
    const auto gathered = [&](std::int32_t member) {
      return View{room, addend.numel * member, addend.numel};
    };
    Op gather = edit.with_views(op, 2, [&](std::int8_t side, std::int32_t r) {
      return side == 0 ? edit.view(op, 0, r) : View{room, 0, addend.numel * group};
    });
    gather.action = Communicate{Collective::all_gather, Reduction::sum, group};
    gather.why.purpose = Purpose::none;
    edit.insert_before(i, gather);
    for (std::int32_t turn = 0; turn < group; ++turn) {
      Op add = edit.with_views(op, 2, [&](std::int8_t side, std::int32_t r) {
        return side == 0 ? gathered((r % group + turn) % group) : edit.view(op, 1, r);
      });
      add.action = turn == 0 ? Action(Copy{}) : Action(Add{});
      add.why.purpose = Purpose::none;
      edit.insert_after(i, add);
    }
  }
  return edit.commit();
}

bool all_reduce_begins_with_own(Planned& planned, const Scenario&) {
  return begins_with_own(planned, Purpose::reduce);
}
bool outer_sum_begins_with_own(Planned& planned, const Scenario&) {
  return begins_with_own(planned, Purpose::reduce_outer);
}

/// The delayed writes of a microbatch into one destination come last in, first out; which of them overwrites
/// stays as it was.
bool drained_last_first(Planned& planned, const Scenario& s) {
  if (s.execution != Execution::delayed) return false;
  PlanEdit edit(planned);
  using Destination = std::tuple<std::int16_t, std::int16_t, std::int32_t, std::int64_t>;
  std::map<Destination, std::vector<std::int32_t>> writes;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (!std::holds_alternative<Gemm>(op.action) || op.why.parameter.value != 0) continue;
    if (edit.role(op, 2) == BufferRole::param_grad) continue;
    const View to = edit.view(op, 2);
    writes[{op.why.step, op.why.microbatch, to.buffer.value, to.offset}].push_back(i);
  }
  for (const auto& [destination, ops] : writes) {
    for (std::size_t a = 0, b = ops.size() - 1; a < b; ++a, --b) {
      const Op one = edit.op(ops[a]), other = edit.op(ops[b]);
      SC_ASSERT(one.ranks == other.ranks, "the uses of a parameter that is never silent have the same ranks");
      const auto with_operands_of = [&](const Op& op, const Op& from) {
        Op moved = edit.with_views(op, 3, [&](std::int8_t operand, std::int32_t r) {
          return edit.view(operand < 2 ? from : op, operand, r);
        });
        moved.why.use = from.why.use;
        return moved;
      };
      const Op early = with_operands_of(one, other), late = with_operands_of(other, one);
      edit.change(ops[a]) = early;
      edit.change(ops[b]) = late;
    }
  }
  return edit.commit();
}

/// No scale inside the collective.
void plain_sums(Scenario& s) {
  prepare::reference(s);
  s.fp8.reset();
  s.loss = Loss::mean;
  s.scaling = Scaling::before;
}
/// With two addends every order is one.
void three_replicas(Scenario& s) {
  plain_sums(s);
  prepare::one_stage(s);
  prepare::fused(s);
  s.strategy = s.slots % 2 ? Strategy::megatron_ddp : Strategy::fsdp_no_shard;
  s.ranks = std::max(s.ranks, 3);
  s.expert_parallel = s.outer = 1;
  prepare::repair(s);
}
void four_outer_groups(Scenario& s) {
  plain_sums(s);
  prepare::hybrid(s);
  s.ranks = 8;
  s.outer = 4;
  prepare::repair(s);
}
/// With two writes, one of them the first, every order is one.
void delayed_writes(Scenario& s) {
  plain_sums(s);
  prepare::one_stage(s);
  prepare::uses(s, {Producer::fused, Producer::fused, Producer::fused});
  s.token_counts.clear();
  s.parameters.front().expert = false;
  s.execution = Execution::delayed;
  prepare::repair(s);
}

}  // namespace

void add_order_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"M-W39a", "ours: no public report",
           "an all-reduce is a gather and additions that begin with the own rank: replicas round apart",
           "W39", three_replicas, all_reduce_begins_with_own},
          {"M-W39b", "ours: no public report", "every outer group begins the outer sum with its own shard",
           "W39", four_outer_groups, outer_sum_begins_with_own},
          {"M-W39c", "ours: no public report", "delayed weight gradients are drained last in, first out",
           "W39", delayed_writes, drained_last_first},
      });
}

}  // namespace shardcheck
