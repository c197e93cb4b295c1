#include "core/contract/class_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/assert.h"

namespace shardcheck {
namespace {

std::size_t slot_of(const Plan& plan, Rank rank, ParamId parameter) {
  return static_cast<std::size_t>(rank.value) * plan.parameters.size() +
         static_cast<std::size_t>(parameter.value);
}

/// The clause that a wrong beta breaks: named after the proxy that chose it, else after what was in the
/// bytes.
std::string_view clause_of_beta(BetaRule rule, Content before, bool persistent, bool accumulate) {
  switch (rule) {
    case BetaRule::microbatch_index:
    case BetaRule::call_order: return "W5";
    case BetaRule::other_parameter:
    case BetaRule::forward_time: return "W17";
    case BetaRule::captured: return "W35";
    default: break;
  }
  const bool left_over = before == Content::stale || before == Content::undefined;
  return accumulate && persistent && left_over ? "W6" : "W4";
}

std::string beta_sentence(bool accumulate, const Atom& atom, BetaRule rule) {
  const std::string_view chosen = name_of(rule);
  if (!accumulate) {
    return fmt::format("beta = 0 overwrites {} contribution{} that must survive; beta was chosen by {}",
                       atom.contributions, atom.contributions == 1 ? "" : "s", chosen);
  }
  const std::string_view what = atom.content != Content::stale ? "undefined bytes"
                                : atom.earlier_step            ? "the value of an earlier step"
                                                               : "the stale part of a reduce-scatter";
  return fmt::format("beta = 1 adds to {}; beta was chosen by {}", what, chosen);
}

}  // namespace

void ClassRules::breach(std::string_view clause, const Place& place, const std::string& sentence) {
  Atom& atom = state_.at(place.rank, place.atom);
  if (atom.tainted) return;
  atom.tainted = true;
  const auto element = reporter_.place(place.rank, place.buffer, state_.offset_of(place.atom));
  const Op& op = plan_.ops[static_cast<std::size_t>(reporter_.op().value)];
  if (!element && op.why.parameter.value < 0) return;  // padding: no clause speaks of it
  reporter_.report(clause, place.rank, element, sentence);
}

bool ClassRules::is_parameter(const Place& place) const {
  return reporter_.place(place.rank, place.buffer, state_.offset_of(place.atom)).has_value();
}

bool ClassRules::has_graphs(const Plan& plan) {
  return std::ranges::find(plan.ops, Stream::graph, &Op::stream) != plan.ops.end();
}

bool ClassRules::has_outer(const Plan& plan) {
  return std::ranges::any_of(plan.parameters, [](const PlanParameter& p) { return p.outer > 1; });
}

bool ClassRules::has_copies(const Plan& plan) {
  return std::ranges::any_of(plan.parameters, &PlanParameter::has_copies);
}

bool ClassRules::has_copies(const Place& place) const {
  if (!has_copies_) return false;
  const auto found = reporter_.place(place.rank, place.buffer, state_.offset_of(place.atom));
  return found && plan_.parameters[static_cast<std::size_t>(found->parameter.value)].has_copies();
}

std::string ClassRules::holders_of_copies(const Place& place) const {
  const auto found = reporter_.place(place.rank, place.buffer, state_.offset_of(place.atom));
  const std::int32_t tensor =
      found ? plan_.parameters[static_cast<std::size_t>(found->parameter.value)].tensor : 1;
  return tensor > 1 ? fmt::format("{} tensor-parallel ranks", tensor) : "two pipeline stages";
}

bool ClassRules::is_summed(const Place& place, std::int32_t PlanParameter::*over) const {
  const auto found = reporter_.place(place.rank, place.buffer, state_.offset_of(place.atom));
  return found && plan_.parameters[static_cast<std::size_t>(found->parameter.value)].*over > 1;
}

bool ClassRules::settled(const Place& place, Atom& atom, std::string_view clause_if_not) {
  state_.settle(place.rank, stream_, atom);
  if (atom.content != Content::in_flight) return true;
  breach(clause_if_not, place,
         "touches bytes that a collective is still using, with nothing that orders the two");
  atom.content = atom.after;
  return false;
}

void ClassRules::written(Atom& atom, Content content) {
  atom.content = content;
  atom.stream = stream_;
  atom.written = index_;
  if (content != Content::accumulated) {
    atom.contributions = 0;
    atom.scaled = false;
  }
  if (content != Content::accumulated && content != Content::valid) atom.outer = false;
}

void ClassRules::apply(OpIndex index, const std::vector<bool>& hook_reported) {
  const Op& op = plan_.ops[static_cast<std::size_t>(index.value)];
  ++index_;
  stream_ = op.stream;
  if (const auto* record = std::get_if<Record>(&op.action)) {
    for (Rank rank : plan_.ranks_of(op)) state_.clocks().record(rank, op.stream, record->event, index_);
    return;
  }
  if (const auto* wait = std::get_if<Wait>(&op.action)) {
    for (Rank rank : plan_.ranks_of(op)) state_.clocks().wait(rank, op.stream, wait->event);
    return;
  }
  if (const auto* lease = std::get_if<OpenLease>(&op.action)) return open_lease(op, *lease);
  if (std::holds_alternative<CloseLease>(op.action)) return close_lease(op);
  if (std::holds_alternative<Finish>(op.action)) return finish(op);
  if (std::holds_alternative<Undefine>(op.action)) return undefine(op);
  if (std::holds_alternative<Allocate>(op.action)) return allocate(op);
  if (std::holds_alternative<BeginStep>(op.action)) return begin_step(op);
  if (const auto* gemm = std::get_if<Gemm>(&op.action)) return write(op, gemm->accumulate, 2, hook_reported);
  if (const auto* s = std::get_if<Scale>(&op.action)) return scale(op, *s);
  if (has_graphs_) take_gradient(op);
  switch (op.why.purpose) {
    case Purpose::none:
      if (std::holds_alternative<EndStep>(op.action)) return end_step(op);
      if (std::holds_alternative<Interrupt>(op.action)) return give_up(op);
      return sum_in_autograd(op);
    case Purpose::zero: return zero(op);
    case Purpose::write:
    case Purpose::fold: return write(op, std::holds_alternative<Add>(op.action), 1, hook_reported);
    case Purpose::dummy: return read_placeholder(op);
    case Purpose::reduce:
    case Purpose::reduce_outer:
    case Purpose::reduce_tied:
    case Purpose::reduce_tensor:
    case Purpose::reduce_shards: return launch(op, std::get<Communicate>(op.action));
    case Purpose::accumulate: return accumulate(op, std::holds_alternative<Add>(op.action));
    case Purpose::stage: return stage(op);
    case Purpose::unstage: return unstage(op);
    case Purpose::weights: return stage_weights(op);
    case Purpose::consume: return consume(op);
    default: return;
  }
}

void ClassRules::write(const Op& op, bool accumulate, int operand, const std::vector<bool>& hook_reported) {
  const BufferRole role = plan_.buffer(plan_.operand(op, operand)[0].buffer).role;
  if (role == BufferRole::param_grad) return write_gradient_of_autograd(op, operand);
  const bool persistent = role != BufferRole::lease_slot;
  const bool fold = op.why.purpose == Purpose::fold;
  if (fold) spend_gradient_of_autograd(op, hook_reported);
  each_atom(op, operand, [&](const Place& place, Atom& atom) {
    if (fold && hook_reported[slot_of(plan_, place.rank, op.why.parameter)]) atom.tainted = true;
    if (!settled(place, atom, "W22")) return written(atom, Content::accumulated);
    const bool overwrites = !accumulate && atom.content == Content::accumulated;
    const bool garbage = accumulate && (atom.content == Content::undefined || atom.content == Content::stale);
    if (overwrites || garbage) {
      const std::string_view by_beta = clause_of_beta(op.why.rule, atom.content, persistent, accumulate);
      const bool hook_overwrites = fold && overwrites;
      breach(hook_overwrites ? "W13" : by_beta, place, beta_sentence(accumulate, atom, op.why.rule));
    } else if (atom.content == Content::valid || (atom.content == Content::stale && !atom.earlier_step)) {
      if (op.why.deferred)
        breach("W32", place, "drains a deferred gradient after its bucket was reduced in this step");
      else
        breach("W21", place, "writes a gradient whose bucket was already reduced in this step");
    } else if (atom.content == Content::parked) {
      breach("W36", place, "writes a gradient over weights that its buffer stages");
    } else if (atom.content == Content::none) {
      breach("W19", place, "writes storage that was returned to the pool");
    } else if (atom.content == Content::accumulated && atom.scaled) {
      breach("W25", place, "adds an unscaled contribution to one that carries the scale already");
    } else if (!state_.is_ordered(place.rank, stream_, atom)) {
      breach("W4", place, "writes without waiting for what another stream did to these bytes before");
    }
    const std::uint16_t before = accumulate ? atom.contributions : 0;
    written(atom, Content::accumulated);
    atom.contributions = static_cast<std::uint16_t>(before + 1);
  });
}

/// A product that is added to param.grad answers to what is there; any other begins a fresh gradient.
void ClassRules::write_gradient_of_autograd(const Op& op, int operand) {
  const auto* gemm = std::get_if<Gemm>(&op.action);
  const bool is_chained = op.why.rule == BetaRule::gradient || op.why.rule == BetaRule::captured;
  const bool is_replay = op.stream == Stream::graph;
  each_atom(op, operand, [&](const Place& place, Atom& atom) {
    if (is_replay && !is_chained && !atom.taken)
      breach("W35", place, "a replay overwrites a gradient that autograd still holds, as an alias of it");
    if (gemm != nullptr && is_chained && gemm->accumulate == (atom.content != Content::accumulated)) {
      const bool is_spent = gemm->accumulate && atom.content == Content::stale && !atom.earlier_step;
      breach(is_spent ? "W13" : clause_of_beta(op.why.rule, atom.content, true, gemm->accumulate), place,
             is_spent ? "adds to what the hook has folded already, so that it is folded once more"
                      : beta_sentence(gemm->accumulate, atom, op.why.rule));
    }
    const std::uint16_t before = gemm != nullptr && gemm->accumulate ? atom.contributions : 0;
    written(atom, Content::accumulated);
    atom.contributions = static_cast<std::uint16_t>(before + 1);
    atom.taken = !is_replay;
  });
}

/// What a replay has returned may be overwritten by the next one as soon as somebody has taken it.
void ClassRules::take_gradient(const Op& op) {
  if (op.operands == 0 || plan_.buffer(plan_.operand(op, 0)[0].buffer).role != BufferRole::param_grad) return;
  each_atom(op, 0, [&](const Place&, Atom& atom) { atom.taken = true; });
}

void ClassRules::sum_in_autograd(const Op& op) {
  const bool moves = std::holds_alternative<Copy>(op.action) || std::holds_alternative<Add>(op.action);
  if (moves && plan_.buffer(plan_.operand(op, 1)[0].buffer).role == BufferRole::param_grad)
    write_gradient_of_autograd(op, 1);
}

/// What the hook has folded is spent: who adds to it, or folds it again, counts it twice.
void ClassRules::spend_gradient_of_autograd(const Op& op, const std::vector<bool>& hook_reported) {
  if (plan_.buffer(plan_.operand(op, 0)[0].buffer).role != BufferRole::param_grad) return;
  each_atom(op, 0, [&](const Place& place, Atom& atom) {
    const bool is_spent = atom.content == Content::stale && !atom.earlier_step;
    if (!is_spent && atom.content != Content::accumulated) return;
    if (is_spent && !hook_reported[slot_of(plan_, place.rank, op.why.parameter)])
      breach("W13", place, "folds a gradient that the hook has folded already");
    written(atom, Content::stale);
    atom.earlier_step = false;
  });
}

void ClassRules::read_placeholder(const Op& op) {
  if (std::holds_alternative<Fill>(op.action)) {
    return each_atom(op, 0, [&](const Place&, Atom& atom) { written(atom, Content::zero); });
  }
  each_atom(op, 0, [&](const Place& place, Atom& atom) {
    if (atom.content == Content::zero) return;
    breach("W14", place, "autograd adds a placeholder that was not zeroed to a real gradient");
  });
  each_atom(op, 1, [&](const Place&, Atom& atom) { written(atom, Content::accumulated); });
}

void ClassRules::zero(const Op& op) {
  each_atom(op, 0, [&](const Place& place, Atom& atom) {
    if (settled(place, atom, "W22")) {
      if (atom.content == Content::accumulated) {
        breach("W2", place, "zeroes contributions that must survive");
      } else if (atom.content == Content::valid) {
        breach("W6", place, "zeroes a reduced gradient that the consumer has not finished with");
      } else if (atom.content == Content::none) {
        breach("W19", place, "zeroes storage that was returned to the pool");
      } else if (atom.content == Content::parked && !state_.is_ordered(place.rank, stream_, atom) &&
                 is_parameter(place)) {
        breach("W36", place, "zeroes the gradient buffer without waiting until the weights are out of it");
      }
    }
    written(atom, Content::zero);
  });
}

void ClassRules::scale(const Op& op, const Scale& scale) {
  if (scale.factor == 1) return;
  const bool divides = op.why.purpose == Purpose::divide, clips = op.why.purpose == Purpose::clip;
  const bool finalizes = divides || clips;
  const Finalized step = divides ? kDivided : kClipped;
  each_atom(op, 0, [&](const Place& place, Atom& atom) {
    if (!settled(place, atom, "W22")) return;
    const std::string order = finalizes ? out_of_order(step, place, atom) : std::string();
    if (finalizes) atom.finalized |= step;
    if (!order.empty()) {
      breach("W32", place, order);
    } else if (!state_.is_ordered(place.rank, stream_, atom) && is_parameter(place)) {
      breach(unawaited(atom), place, "scales a contribution without waiting for its write");
    } else if (atom.content == Content::valid && !finalizes) {
      breach("W25", place, "scales a gradient that is already reduced");
    } else if (atom.content == Content::undefined && is_parameter(place)) {
      breach("W7", place, "scales bytes that nobody wrote");
    } else if (atom.content == Content::none) {
      breach("W19", place, "scales storage that was returned to the pool");
    }
    const std::uint16_t contributions = atom.contributions;
    written(atom, atom.content);
    if (atom.content == Content::accumulated) {
      atom.contributions = contributions;
      atom.scaled = true;
    }
  });
}

}  // namespace shardcheck
