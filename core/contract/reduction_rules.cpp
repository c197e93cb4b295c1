// The second half of ClassRules: from the launch of a reduction to the consumer (wgrad 2.4, LAUNCH to STEP).
#include <fmt/format.h>

#include "core/assert.h"
#include "core/contract/class_rules.h"

namespace shardcheck {
namespace {

bool overlaps(View a, View b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.numel && b.offset < a.offset + a.numel;
}

bool is_sum_of_copies(Purpose purpose) {
  return purpose == Purpose::reduce_tied || purpose == Purpose::reduce_tensor;
}

}  // namespace

std::string ClassRules::out_of_order(Finalized step, const Place& place, const Atom& atom) const {
  const bool stale = atom.content == Content::stale || atom.content == Content::undefined;
  if (stale) return {};
  if ((atom.finalized & kHandedOver) != 0) return "changes a gradient that the consumer has read already";
  if ((atom.finalized & step) != 0)
    return step == kSummed    ? fmt::format("sums the copies of {} a second time", holders_of_copies(place))
           : step == kDivided ? "divides the gradient a second time"
                              : "clips the gradient a second time";
  if ((atom.finalized & ~(step - 1)) != 0)
    return step == kSummed ? fmt::format("sums the copies of {} after one was divided or clipped",
                                         holders_of_copies(place))
                           : "divides the gradient after it was clipped";
  const bool local = atom.content == Content::accumulated || atom.content == Content::zero;
  const bool in_shard = plan_.buffer(place.buffer).role == BufferRole::shard;
  // A division that comes too early shows at what follows it; without that, as a missing reduction (W29).
  if (step == kSummed && local && !in_shard && is_summed(place, &PlanParameter::group))
    return fmt::format("sums the copies of {} before their data-parallel reduction",
                       holders_of_copies(place));
  return {};
}

/// What the sum over the ranks [first, first + group) of the op gives for one atom of the input.
Content ClassRules::judge_sum(std::span<const Place> addends, Purpose axis) {
  std::size_t stale = 0;
  bool is_of_earlier_step = false;
  for (const Place& place : addends) {
    Atom& atom = state_.at(place.rank, place.atom);
    if (!settled(place, atom, "W21")) continue;
    const bool sums_copies = is_sum_of_copies(axis);
    const bool is_first_axis = axis == Purpose::reduce || axis == Purpose::reduce_shards;
    const std::string order = sums_copies           ? out_of_order(kSummed, place, atom)
                              : atom.finalized != 0 ? "reduces a gradient that finalize has changed already"
                                                    : std::string();
    if (!order.empty()) {
      breach("W32", place, order);
    } else if (atom.content == Content::undefined && is_parameter(place)) {
      breach("W7", place, "reduces bytes that nobody wrote or zeroed");
    } else if (atom.content == Content::valid && !sums_copies && (is_first_axis || atom.outer)) {
      breach("W27", place, "reduces a gradient that is already reduced");
    } else if (atom.content == Content::parked) {
      breach("W36", place, "reduces weights that the gradient buffer stages");
    } else if (atom.content == Content::none) {
      breach("W33", place, "reduces storage that was returned to the pool");
    } else if (!state_.is_ordered(place.rank, stream_, atom) && is_parameter(place)) {
      breach(unawaited(atom), place, "starts the reduction without waiting for the write of a contribution");
    }
    stale += atom.content == Content::stale;
    is_of_earlier_step |= atom.content == Content::stale && atom.earlier_step;
  }
  if (stale > 0 && stale < addends.size()) {
    if (is_of_earlier_step) {
      breach("W6", addends.front(),
             "sums what some ranks hold of an earlier step with contributions of others");
    } else {
      breach("W28", addends.front(), "sums stale bytes of some ranks with contributions of others");
    }
  }
  return stale == addends.size() ? Content::stale : Content::valid;
}

void ClassRules::launch(const Op& op, const Communicate& communicate) {
  const auto ranks = plan_.ranks_of(op);
  const auto inputs = plan_.operand(op, 0), outputs = plan_.operand(op, 1);
  const bool scatters = communicate.collective == Collective::reduce_scatter;
  const auto group = static_cast<std::size_t>(communicate.group);
  const bool is_outer = op.why.purpose == Purpose::reduce_outer;
  const bool sums_copies = is_sum_of_copies(op.why.purpose);
  std::vector<std::pair<std::int32_t, std::int32_t>> input(ranks.size()), output(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    input[i] = i > 0 && inputs[i] == inputs[i - 1] ? input[i - 1] : state_.atoms(inputs[i]);
    output[i] = i > 0 && outputs[i] == outputs[i - 1] ? output[i - 1] : state_.atoms(outputs[i]);
  }
  std::vector<Place> addends(group);
  for (std::size_t first = 0; first < ranks.size(); first += group) {
    for (std::int32_t a = 0; a < input[first].second - input[first].first; ++a) {
      for (std::size_t i = 0; i < group; ++i) {
        addends[i] = {ranks[first + i], inputs[first + i].buffer, input[first + i].first + a};
      }
      const Content sum = judge_sum(addends, op.why.purpose);
      for (std::size_t i = 0; i < group; ++i) {
        const auto [own_first, own_last] = output[first + i];
        const bool own = addends[i].atom >= own_first && addends[i].atom < own_last;
        Atom& atom = state_.at(addends[i].rank, addends[i].atom);
        const bool outer = is_outer || (sums_copies && atom.outer);
        written(atom, Content::in_flight);
        atom.after = scatters && !own ? Content::stale : sum;
        atom.earlier_step = false;
        atom.outer = outer;
        if (sums_copies) atom.finalized |= kSummed;
      }
    }
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::int32_t a = output[i].first; a < output[i].second; ++a) {
      if (a >= input[i].first && a < input[i].second) continue;  // in place
      Atom& atom = state_.at(ranks[i], a);
      written(atom, Content::in_flight);
      atom.after = Content::valid;
      atom.outer = is_outer;
    }
  }
}

/// True when a contribution in these bytes is a sum over several ranks before it is accumulated: by the
/// owner, or over the ranks that share a distributed weight.
bool ClassRules::is_summed_before_it_is_added(const Place& place) const {
  const auto found = reporter_.place(place.rank, place.buffer, state_.offset_of(place.atom));
  if (!found) return false;
  const PlanParameter& parameter = plan_.parameters[static_cast<std::size_t>(found->parameter.value)];
  return (parameter.shards > 0 ? parameter.shards : parameter.group) > 1;
}

/// True when the source of an accumulation holds what may be added.
bool ClassRules::spend_source(const Place& place, Atom& atom) {
  if (!settled(place, atom, "W23")) return false;
  const bool local = atom.content == Content::accumulated || atom.content == Content::zero;
  const bool is_partial = plan_.buffer(place.buffer).role == BufferRole::shard;  // FSDP2, hybrid
  if (local && !is_partial && is_summed_before_it_is_added(place)) {
    breach("W21", place, "accumulates a contribution that was never reduced");
  } else if (atom.content == Content::stale) {
    breach("W28", place, "accumulates the part that a reduce-scatter left stale");
  } else if (atom.content == Content::undefined && is_parameter(place)) {
    breach("W26", place,
           "accumulates a reduced gradient that was already accumulated, or bytes that nobody wrote");
  } else if (!state_.is_ordered(place.rank, stream_, atom) && is_parameter(place)) {
    breach("W23", place, "accumulates before the reduced gradient is there");
  }
  written(atom, Content::undefined);
  return true;
}

void ClassRules::accumulate(const Op& op, bool add) {
  const View source = plan_.operand(op, 0)[0];
  const View shard = plan_.operand(op, 1)[0];
  const bool alias = overlaps(source, shard);
  const bool is_destination = plan_.buffer(shard.buffer).role == BufferRole::main_grad;
  bool is_outer = false;
  if (!alias) {
    each_atom(op, 0, [&](const Place& place, Atom& atom) {
      is_outer |= atom.outer;
      spend_source(place, atom);
    });
  }
  each_atom(op, 1, [&](const Place& place, Atom& atom) {
    if (!settled(place, atom, "W22")) return;
    if (alias) {
      breach("W26", place, "adds the reduced gradient onto its own storage");
    } else if (is_destination &&
               (atom.content == Content::valid || (atom.content == Content::stale && !atom.earlier_step))) {
      breach("W21", place, "adds rows of a distributed weight whose bucket was already reduced in this step");
    } else if (add && (atom.content == Content::undefined || atom.content == Content::stale)) {
      breach(op.why.rule == BetaRule::microbatch_index ? "W5" : "W6", place,
             atom.content == Content::stale
                 ? "accumulates onto the shard of an earlier step, which was not zeroed"
                 : "accumulates onto a shard that was never zeroed");
    } else if (add && atom.outer && !is_outer &&
               (atom.content == Content::valid || atom.content == Content::accumulated)) {
      breach("W29", place, "accumulates onto a shard that is reduced over the outer groups already");
    } else if (!add && atom.outer && !is_outer && atom.content == Content::valid) {
      breach("W29", place, "replaces what the outer groups have summed of earlier microbatches");
    } else if (!add && atom.content == Content::accumulated) {
      breach("W26", place, "copies a reduced gradient over the running shard accumulator");
    } else if (add && atom.content == Content::accumulated && atom.scaled) {
      breach("W25", place, "accumulates onto a running shard that was scaled in between");
    }
    const std::uint16_t before = add ? atom.contributions : 0;
    written(atom, Content::accumulated);
    atom.contributions = static_cast<std::uint16_t>(before + 1);
    atom.outer = is_outer;
  });
}

void ClassRules::stage(const Op& op) {
  const auto ranks = plan_.ranks_of(op);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto from = state_.atoms(plan_.operand(op, 0)[i]);
    const auto to = state_.atoms(plan_.operand(op, 1)[i]);
    SC_ASSERT(from.second - from.first == to.second - to.first,
              "a staging copy whose two sides are cut differently");
    for (std::int32_t a = 0; a < to.second - to.first; ++a) {
      const Place place{ranks[i], plan_.operand(op, 0)[i].buffer, from.first + a};
      Atom& source = state_.at(ranks[i], from.first + a);
      settled(place, source, "W23");
      if (!state_.is_ordered(ranks[i], stream_, source) && is_parameter(place)) {
        breach(unawaited(source), place, "copies local sums away without waiting for their last write");
      }
      Atom& target = state_.at(ranks[i], to.first + a);
      settled({ranks[i], plan_.operand(op, 1)[i].buffer, to.first + a}, target, "W22");
      const bool lease_open = target.lease_open;
      target = source;
      target.lease_open = lease_open;
      target.stream = stream_;
      target.written = index_;
      // Local sums moved: the source holds them for nobody until the reduced values come back.
      if (source.content == Content::accumulated || source.content == Content::zero)
        written(source, Content::stale);
      source.earlier_step = false;
    }
  }
}

/// Weights on their way through a gradient buffer: each rank's slice comes in, the gather completes it, a
/// copy takes it out. Each waits for the one before it (wgrad 6.2 E15). Other buffers of weights are no
/// matter of this file.
void ClassRules::stage_weights(const Op& op) {
  const bool gathers = std::holds_alternative<Communicate>(op.action);
  if (!gathers && !std::holds_alternative<Copy>(op.action)) return;
  const auto is_gradient = [&](int operand) {
    return state_.is_tracked(plan_.operand(op, operand)[0].buffer);
  };
  if (is_gradient(0)) {
    each_atom(op, 0, [&](const Place& place, Atom& atom) {
      if (!settled(place, atom, "W22")) return;
      if (atom.content != Content::parked) {
        breach("W36", place,
               gathers
                   ? "gathers weights that were not staged first: the gather spreads what is there instead"
                   : "takes weights out of the gradient buffer, which does not hold them any more");
      } else if (!state_.is_ordered(place.rank, stream_, atom) && is_parameter(place)) {
        breach("W36", place,
               gathers ? "gathers weights without waiting until they are staged"
                       : "takes weights out of the gradient buffer without waiting for their gather");
      }
      // What comes next has to wait for this reader.
      atom.stream = stream_;
      atom.written = index_;
    });
  }
  if (!is_gradient(1)) return;
  each_atom(op, 1, [&](const Place& place, Atom& atom) {
    if (settled(place, atom, "W22") &&
        (atom.content == Content::accumulated || atom.content == Content::valid))
      breach("W36", place, "stages weights over a gradient that is still needed");
    written(atom, Content::parked);
  });
}

void ClassRules::unstage(const Op& op) {
  const auto ranks = plan_.ranks_of(op);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto from = state_.atoms(plan_.operand(op, 0)[i]);
    const auto to = state_.atoms(plan_.operand(op, 1)[i]);
    for (std::int32_t a = 0; a < to.second - to.first; ++a) {
      const Place place{ranks[i], plan_.operand(op, 0)[i].buffer, from.first + a};
      Atom& source = state_.at(ranks[i], from.first + a);
      settled(place, source, "W23");
      Atom& target = state_.at(ranks[i], to.first + a);
      written(target, source.content);
      target.outer = source.outer;
    }
  }
}

void ClassRules::finish(const Op& op) {
  each_atom(op, 0, [&](const Place& place, Atom& atom) {
    if (!settled(place, atom, "W23")) return;
    const BufferRole role = plan_.buffer(place.buffer).role;
    const bool local = atom.content == Content::accumulated || atom.content == Content::zero;
    const bool ends = atom.content != Content::stale && atom.content != Content::undefined;
    if (local && role != BufferRole::shard && is_summed(place, &PlanParameter::group)) {
      breach("W29", place, "the step ends without a reduction of this gradient");
    } else if (has_outer_ && ends && !atom.outer && is_summed(place, &PlanParameter::outer)) {
      breach("W29", place, "the step ends without the reduction over the outer groups");
    } else if (ends && (atom.finalized & kSummed) == 0 && has_copies(place)) {
      breach("W32", place,
             fmt::format("the step ends without the sum over the copies of {}", holders_of_copies(place)));
    } else if (atom.content == Content::stale && is_parameter(place)) {
      breach("W28", place, "hands stale bytes to the consumer");
    } else if (atom.content == Content::undefined && is_parameter(place)) {
      breach("W8", place, "hands bytes that nobody wrote in this step to the consumer");
    } else if (atom.content == Content::parked && is_parameter(place)) {
      breach("W36", place, "hands weights that the gradient buffer stages to the consumer");
    } else if (atom.content == Content::none) {
      breach("W33", place, "hands storage that was returned to the pool to the consumer");
    } else if (!state_.is_ordered(place.rank, stream_, atom) && is_parameter(place)) {
      breach("W23", place, "the consumer does not wait for the last write");
    }
    written(atom, Content::valid);
    atom.finalized |= kHandedOver;
  });
}

void ClassRules::consume(const Op& op) {
  each_atom(op, 0, [&](const Place& place, Atom& atom) {
    if (!settled(place, atom, "W23") || atom.content == Content::valid || !is_parameter(place)) return;
    const bool stale = atom.content == Content::stale || atom.content == Content::undefined;
    breach(stale ? "W28" : "W21", place,
           fmt::format("the consumer reads {} before it was finished", name_of(atom.content)));
  });
}

}  // namespace shardcheck
