// Faults of finalize (W32): a gradient that is drained too late, the sums over the copies of a parameter that
// two pipeline stages or tensor-parallel ranks have, and the order of division, clipping and the consumer.
#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"

namespace shardcheck {
namespace {

bool has_purpose(const Op& op, std::initializer_list<Purpose> purposes) {
  return std::ranges::find(purposes, op.why.purpose) != purposes.end();
}

/// The first op of the step that has one of the purposes, or the first Finish where there are none; -1: none.
std::int32_t first_of_step(PlanEdit& edit, std::int16_t step, std::initializer_list<Purpose> purposes) {
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const bool is_it =
        purposes.size() == 0 ? std::holds_alternative<Finish>(op.action) : has_purpose(op, purposes);
    if (op.why.step == step && is_it) return i;
  }
  return -1;
}

/// Every op that `select` picks goes before the first one of its step that has one of the purposes.
template <class Select>
bool move_before(Planned& planned, std::initializer_list<Purpose> purposes, Select select) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!select(edit, edit.op(i))) continue;
    const std::int32_t where = first_of_step(edit, edit.op(i).why.step, purposes);
    if (where < 0) continue;
    edit.insert_before(where, edit.op(i));
    edit.erase(i);
  }
  return edit.commit();
}

/// The last deferred gradient of the embedding is drained after the gradients were reduced.
bool drained_after_the_reduction(Planned& planned, const Scenario& s) {
  return move_before(planned, {}, [&](const PlanEdit&, const Op& op) {
    return op.why.deferred && op.why.purpose == Purpose::write && op.why.microbatch == s.microbatches - 1;
  });
}

bool is_sum_of_copies(const Op& op) {
  return has_purpose(op, {Purpose::reduce_tied, Purpose::reduce_tensor});
}

bool never_summed(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_sum_of_copies(edit.op(i))) edit.erase(i);
  }
  return edit.commit();
}

bool summed_twice(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_sum_of_copies(edit.op(i))) edit.insert_after(i, edit.op(i));
  }
  return edit.commit();
}

/// As if every tensor-parallel rank had seen all of the tokens.
bool averaged(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (edit.op(i).why.purpose != Purpose::reduce_tensor) continue;
    std::get<Communicate>(edit.change(i).action).reduction = Reduction::average;
  }
  return edit.commit();
}

bool summed_before_the_reduction(Planned& planned, const Scenario&) {
  return move_before(planned, {Purpose::scale, Purpose::stage, Purpose::reduce},
                     [](const PlanEdit&, const Op& op) { return is_sum_of_copies(op); });
}

bool covers(View range, View part) {
  return range.buffer == part.buffer && range.offset <= part.offset &&
         part.offset + part.numel <= range.offset + range.numel;
}

/// One of the two copies is divided before they are summed.
bool divided_before_the_sum(Planned& planned, const Scenario&) {
  const Plan& plan = planned.plan;
  const auto of_first = [&](const PlanEdit& edit, const Op& op) {
    if (op.why.purpose != Purpose::divide) return false;
    return std::ranges::any_of(plan.placements, [&](const Placement& p) {
      return p.parameter.value == 0 && covers(edit.view(op, 0), p.view);
    });
  };
  return move_before(planned, {Purpose::reduce_tied}, of_first);
}

/// The division is left for later, and the consumer does not wait for it.
bool divided_after_the_step(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::vector<Op> divisions;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (std::holds_alternative<EndStep>(op.action)) {
      for (const Op& division : divisions) edit.insert_before(i, division);
      divisions.clear();
    }
    if (op.why.purpose != Purpose::divide) continue;
    divisions.push_back(op);
    edit.erase(i);
  }
  return edit.commit();
}

bool clipped_before_the_division(Planned& planned, const Scenario&) {
  return move_before(planned, {Purpose::divide},
                     [](const PlanEdit&, const Op& op) { return op.why.purpose == Purpose::clip; });
}

/// On the second stage each rank owns its neighbour's slice, as in a buffer that has another parameter before
/// the copy.
bool copies_cut_differently(Planned& planned, const Scenario& s) {
  if (s.stages != 2) return false;
  PlanEdit edit(planned);
  const std::int32_t group = s.ranks, first = s.ranks;
  const auto before = [&](std::int32_t i) { return (i - 1 + group) % group; };
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    const bool reads = std::holds_alternative<Finish>(op.action) || op.why.purpose == Purpose::consume;
    if (op.ranks != group || (!reads && op.why.purpose != Purpose::reduce)) continue;
    const auto ranks = edit.plan().ranks_of(op);
    if (ranks[0].value != first) continue;
    if (reads) {
      const auto moved = [&](std::int8_t operand, std::int32_t r) {
        return edit.view(op, operand, operand == 0 ? before(r) : r);
      };
      edit.change(i) = edit.with_views(op, op.operands, moved);
    } else {
      std::vector<Rank> rotated;
      for (std::int32_t r = 0; r < group; ++r)
        rotated.push_back(ranks[static_cast<std::size_t>((r + 1) % group)]);
      edit.change(i) = edit.with_ranks(
          op, rotated, [&](std::int8_t operand, std::int32_t r) { return edit.view(op, operand, r); });
    }
  }
  for (Placement& p : planned.plan.owned) {
    if (p.rank.value < first || p.rank.value >= first + group) continue;
    p.rank.value = first + (p.rank.value - first + 1) % group;
  }
  return edit.commit();
}

void deferred_embedding(Scenario& s) {
  prepare::persistent(s);
  prepare::uses(s, {Producer::deferred});
  prepare::two_ranks(s);
  prepare::two_microbatches(s);
  s.parameters.front().expert = false;
}
void tied(Scenario& s) {
  prepare::pipeline(s);
  s.overlap = false;
}
void tied_and_kept(Scenario& s) {
  tied(s);
  if (has_leases(s.strategy)) s.strategy = Strategy::fsdp_optim;
}
void tied_and_cut(Scenario& s) {
  tied(s);
  s.strategy = Strategy::megatron_ddp_zero1;
  for (ScenarioParameter& p : s.parameters) {
    if (p.tied_to < 0) p.stage = 0;
  }
}
/// An even number of tokens, so that there is something to divide by.
void per_token(Scenario& s) {
  s.loss = Loss::per_token;
  s.token_counts.clear();
  s.tokens = 2;
  s.microbatches = s.microbatches >= 3 ? 4 : 2;
  if ((s.ranks & (s.ranks - 1)) != 0) s.ranks = 4;
}
/// One group of tensor-parallel ranks, and no copy on another stage.
void tensor_parallel(Scenario& s) {
  prepare::tensor_parallel(s);
  s.overlap = false;
}
void tied_per_token(Scenario& s) {
  tied(s);
  per_token(s);
}
void divided(Scenario& s) {
  prepare::persistent(s);
  prepare::fused(s);
  per_token(s);
}
void divided_and_clipped(Scenario& s) {
  divided(s);
  s.clip = 1;
}

}  // namespace

void add_finalize_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"B-26", "NVIDIA/Megatron-LM#1012 (K05)",
           "a deferred gradient of the embedding is drained after the reduction: replicas differ, their mean "
           "is right",
           "W32", deferred_embedding, drained_after_the_reduction},
          {"B-45", "NVIDIA/Megatron-LM#844 (K18), #6500",
           "the copies of a tied weight are cut differently, so that the sum over two stages adds reduced "
           "and "
           "stale parts",
           "W28", tied_and_cut, copies_cut_differently},
          {"M-W32a", "ours: NVIDIA/Megatron-LM#656 (K18), tied weights drift apart",
           "the copies of a tied weight on two stages are not summed", "W32", tied, never_summed},
          {"M-W32b", "ours: no public report", "the copies of a tied weight are summed twice", "W32", tied,
           summed_twice},
          {"M-W32c", "ours: no public report",
           "the copies of a tied weight are summed before the data-parallel reduction", "W32", tied_and_kept,
           summed_before_the_reduction},
          {"M-W32d", "ours: no public report",
           "one copy of a tied weight is divided by the tokens before the copies are summed", "W32",
           tied_per_token, divided_before_the_sum},
          {"M-W32g", "ours: no public report", "the copies of a norm on tensor-parallel ranks are not summed",
           "W32", tensor_parallel, never_summed},
          {"M-W32h", "ours: no public report",
           "the copies of a norm on tensor-parallel ranks are summed twice", "W32", tensor_parallel,
           summed_twice},
          {"M-W24b", "ours: no public report",
           "the copies of a norm on tensor-parallel ranks are averaged instead of summed", "W24",
           tensor_parallel, averaged},
          {"M-W32e", "ours: no public report", "the optimizer reads the gradient before its division", "W32",
           divided, divided_after_the_step},
          {"M-W32f", "ours: no public report", "the gradient is clipped before its division", "W32",
           divided_and_clipped, clipped_before_the_division},
      });
}

}  // namespace shardcheck
