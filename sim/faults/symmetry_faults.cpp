// Faults of programs that differ from rank to rank: the last rank of a group calls other collectives than its
// peers, or the same ones in another order. A plan says so with Enqueues: these rewrites say of every
// collective who calls it, and change what the last rank says. What moves bytes stays as it was, except where
// calls are mixed and complete.
#include <algorithm>
#include <map>

#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"

namespace shardcheck {
namespace {

/// The Enqueues of one collective of the plan.
class Calls {
 public:
  Calls(PlanEdit& edit, std::int32_t index)
      : edit_(edit), index_(index), op_(edit.op(index)), what_(std::get<Communicate>(op_.action)) {}

  void by_all() { add(0, what_.group, op_, 0); }
  void by_all_but_the_last() { add(0, what_.group - 1, op_, 0); }
  /// The last rank of every communicator calls `other` in its place, one with the same communicators.
  void by_the_last(const Op& other) { add(what_.group - 1, what_.group, other, 0); }
  /// The last rank calls it on so many fewer elements.
  void by_the_last(std::int64_t fewer) { add(what_.group - 1, what_.group, op_, fewer); }

 private:
  void add(std::int32_t first, std::int32_t last, const Op& called, std::int64_t fewer) {
    if (first == last) return;
    for (std::int32_t begin = 0; begin < op_.ranks; begin += what_.group) {
      std::vector<Rank> ranks;
      for (std::int32_t i = begin + first; i < begin + last; ++i)
        ranks.push_back(edit_.plan().ranks_of(op_)[static_cast<std::size_t>(i)]);
      Op call = op_;
      call.action = Enqueue{std::get<Communicate>(called.action), op_.first_rank + begin};
      call.why.purpose = Purpose::none;
      const auto view_of = [&](std::int8_t operand, std::int32_t i) {
        View view = edit_.view(called, operand, begin + first + i);
        const bool is_slice = view.numel < edit_.view(called, 0, begin + first + i).numel;
        view.numel -= is_slice ? fewer / what_.group : fewer;
        return view;
      };
      edit_.insert_before(index_, edit_.with_ranks(call, ranks, view_of));
    }
  }

  PlanEdit& edit_;
  std::int32_t index_;
  Op op_;
  Communicate what_;
};

bool is_reduction(const Op& op) {
  return op.why.purpose == Purpose::reduce && std::get<Communicate>(op.action).group > 1;
}

/// Elements of the first parameter, and of all, in what a collective reduces.
struct Share {
  std::int64_t first = 0, all = 0;
};
Share share_of(const PlanEdit& edit, const Op& op, const std::map<BufferId, std::int32_t>& lent) {
  const View reduced = edit.view(op, 0);
  const auto lease = lent.find(reduced.buffer);
  const bool is_lent = lease != lent.end();
  const Plan& plan = edit.plan();
  Share share;
  for (const Placement& p :
       is_lent ? plan.buckets[static_cast<std::size_t>(lease->second)] : plan.placements) {
    const bool inside = p.view.buffer == reduced.buffer && p.view.offset >= reduced.offset &&
                        p.view.offset < reduced.offset + reduced.numel;
    if (!is_lent && !inside) continue;
    share.all += p.view.numel;
    if (p.parameter.value == 0) share.first += p.view.numel;
  }
  return share;
}

/// Calls call_first(calls, share) for every reduction of the first parameter, and lets all ranks call the
/// rest.
template <class CallFirst>
bool change_calls(Planned& planned, CallFirst call_first) {
  PlanEdit edit(planned);
  std::map<BufferId, std::int32_t> lent;  // a slot: the bucket of its lease
  bool is_changed = false;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (const auto* lease = std::get_if<OpenLease>(&op.action)) lent[edit.view(op, 0).buffer] = lease->bucket;
    if (!std::holds_alternative<Communicate>(op.action)) continue;
    Calls calls(edit, i);
    const Share share = is_reduction(op) ? share_of(edit, op, lent) : Share{};
    if (share.first == 0) {
      calls.by_all();
      continue;
    }
    call_first(calls, share);
    is_changed = true;
  }
  return is_changed && edit.commit();
}

/// What the last rank does not use is not part of what it reduces.
bool unused_left_out(Planned& planned, const Scenario&) {
  return change_calls(planned, [](Calls& calls, const Share& share) {
    calls.by_all_but_the_last();
    if (share.all > share.first) calls.by_the_last(share.first);
  });
}
/// The bucket of what the last rank does not use never counts as complete there.
bool never_launched(Planned& planned, const Scenario&) {
  return change_calls(planned, [](Calls& calls, const Share&) { calls.by_all_but_the_last(); });
}

/// The reductions of one set of ranks that the owner launches one after the other at the end of each step.
std::vector<std::vector<std::int32_t>> leftovers_of(const Plan& plan) {
  std::vector<std::vector<std::int32_t>> steps;
  std::span<const Rank> ranks;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan.ops.size()); ++i) {
    const Op& op = plan.ops[static_cast<std::size_t>(i)];
    if (std::holds_alternative<BeginStep>(op.action)) steps.emplace_back();
    if (steps.empty() || !is_reduction(op) || op.why.microbatch >= 0) continue;
    if (ranks.empty()) ranks = plan.ranks_of(op);
    if (std::ranges::equal(ranks, plan.ranks_of(op))) steps.back().push_back(i);
  }
  return steps;
}

/// What the last rank calls in the place of another collective.
using Instead = std::map<std::int32_t, std::int32_t>;

void call_instead(PlanEdit& edit, const Instead& instead) {
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!std::holds_alternative<Communicate>(edit.op(i).action)) continue;
    const auto other = instead.find(i);
    Calls calls(edit, i);
    if (other == instead.end()) {
      calls.by_all();
      continue;
    }
    calls.by_all_but_the_last();
    calls.by_the_last(edit.op(other->second));
  }
}

/// The last rank walks the leftover buckets the other way, as far as sizes differ.
bool walked_backwards(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  Instead instead;
  for (const auto& step : leftovers_of(planned.plan)) {
    for (std::size_t i = 0; i < step.size(); ++i) {
      const std::int32_t other = step[step.size() - 1 - i];
      const bool differs = edit.view(edit.op(step[i]), 0).numel != edit.view(edit.op(other), 0).numel;
      if (differs) instead[step[i]] = other;
    }
  }
  call_instead(edit, instead);
  return !instead.empty() && edit.commit();
}

/// Neighbours of one size change places on the last rank: they complete, and add up what is not alike.
bool walked_in_another_order(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  Instead instead;
  for (const auto& step : leftovers_of(planned.plan)) {
    for (std::size_t i = 0; i + 1 < step.size(); ++i) {
      const std::int32_t one = step[i], other = step[i + 1];
      const bool fits = edit.view(edit.op(one), 0).numel == edit.view(edit.op(other), 0).numel;
      if (!fits || instead.contains(one)) continue;
      instead[one] = other;
      instead[other] = one;
    }
  }
  call_instead(edit, instead);
  const std::vector<Op> ops = planned.plan.ops;
  for (const auto& [index, other] : instead) {
    const Op& mine = ops[static_cast<std::size_t>(index)];
    const Op& theirs = ops[static_cast<std::size_t>(other)];
    const std::int32_t group = std::get<Communicate>(mine.action).group;
    edit.change(index) = edit.with_views(mine, 2, [&](std::int8_t operand, std::int32_t i) {
      return edit.view(i % group == group - 1 ? theirs : mine, operand, i);
    });
  }
  return !instead.empty() && edit.commit();
}

/// The first parameter is dense, and the last rank never uses it.
void silent_on_the_last_rank(Scenario& s) {
  prepare::fusing_owner(s);
  prepare::two_ranks(s);
  s.outer = 1;
  s.outer_mode = OuterMode::replicate;
  prepare::matrix(s);
  prepare::used(s);
  s.parameters.front().expert = false;
  s.silent.push_back({0, -1, s.ranks - 1, -1});
  prepare::repair(s);
}
void leases(Scenario& s) {
  prepare::leases(s);
  silent_on_the_last_rank(s);
}
void overlapped(Scenario& s) {
  prepare::persistent(s);
  silent_on_the_last_rank(s);
  s.overlap = true;
}

/// Two dense weights in buckets of their own, reduced at the end of the step.
void two_leftover_buckets(Scenario& s, std::int64_t columns) {
  prepare::persistent(s);
  prepare::two_ranks(s);
  s.outer = 1;
  s.outer_mode = OuterMode::replicate;
  s.strategy = Strategy::megatron_ddp;
  s.bucket_size = 1;
  s.overlap = false;
  if (s.parameters.size() == 1) s.parameters.push_back({.name = "next"});
  for (std::int32_t p = 0; p < 2; ++p) {
    ScenarioParameter& parameter = s.parameters[static_cast<std::size_t>(p)];
    parameter = {.name = parameter.name, .shape = {2, p == 0 ? 12 : columns}};
    std::erase_if(s.uses, [&](const ScenarioUse& use) { return use.parameter == p; });
    s.uses.push_back({.parameter = p});
  }
  prepare::writing(s);
  prepare::repair(s);
}
void other_sizes(Scenario& s) {
  two_leftover_buckets(s, 20);
}
void equal_sizes(Scenario& s) {
  two_leftover_buckets(s, 12);
  s.loss = Loss::per_token;
  s.comm = s.main_grad;
}

}  // namespace

void add_symmetry_faults(std::vector<Fault>& zoo) {
  zoo.insert(zoo.end(),
             {
                 {"B-49", "NVIDIA/Megatron-LM#1150",
                  "a parameter that one rank never uses keeps its bucket from being launched there", "W30",
                  overlapped, never_launched},
                 {"B-51", "pytorch/pytorch#158719, #170667, #196996",
                  "a rank leaves a parameter that it does not use out of its collective", "W30", leases,
                  unused_left_out},
                 {"B-52", "NVIDIA/Megatron-LM#2218 (K15)",
                  "leftover buckets are walked in an order of each rank's own: sizes differ", "W30",
                  other_sizes, walked_backwards},
                 {"K15", "NVIDIA/Megatron-LM#2218, pytorch/pytorch#64629",
                  "leftover buckets are walked in an order of each rank's own: sizes agree", "W30",
                  equal_sizes, walked_in_another_order},
             });
}

}  // namespace shardcheck
