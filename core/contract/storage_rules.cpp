// The part of ClassRules that hands storage out and takes it back: leases, allocation, attempts and processes
// that end, and what a step begins with and may leave open (wgrad 2.4, ACQ, FREE, STEP).
#include "core/contract/class_rules.h"

namespace shardcheck {

void ClassRules::open_lease(const Op& op, const OpenLease& lease) {
  const View view = plan_.operand(op, 0)[0];
  reporter_.open_lease(lease.bucket, view);
  each_atom(op, 0, [&](const Place& place, Atom& atom) {
    atom.tainted = false;
    const bool touched = atom.written >= 0;
    if (atom.lease_open) {
      breach("W18", place, "fetches new storage for a lease that is still open");
    } else if (touched && !state_.is_ordered(place.rank, stream_, atom)) {
      breach("W33", place, "reuses a slot that its last reader has not finished with on this stream");
    }
    written(atom, Content::undefined);
    atom.finalized = 0;
    open_ += !atom.lease_open;
    atom.lease_open = true;
  });
}

void ClassRules::close_lease(const Op& op) {
  each_atom(op, 0, [&](const Place& place, Atom& atom) {
    if (settled(place, atom, "W33")) {
      if (atom.content == Content::accumulated) {
        breach("W21", place, "returns a lease whose contributions were never reduced");
      } else if (atom.content == Content::valid && is_parameter(place)) {
        breach("W21", place, "returns a lease whose reduced gradient was never accumulated");
      }
    }
    written(atom, Content::none);
    open_ -= atom.lease_open;
    atom.lease_open = false;
  });
}

void ClassRules::undefine(const Op& op) {
  if (!state_.is_tracked(plan_.operand(op, 0)[0].buffer)) return;
  each_atom(op, 0, [&](const Place& place, Atom& atom) {
    if (atom.content == Content::stale) return;  // still what the reduce-scatter left to nobody
    if (atom.content == Content::accumulated && atom.lease_open) {
      breach("W18", place, "leaves the content of an open lease undefined");
    }
    written(atom, Content::undefined);
  });
}

void ClassRules::allocate(const Op& op) {
  if (!state_.is_tracked(plan_.operand(op, 0)[0].buffer)) return;
  const bool lent_later = plan_.buffer(plan_.operand(op, 0)[0].buffer).role == BufferRole::lease_slot;
  each_atom(op, 0, [&](const Place&, Atom& atom) {
    atom = {};
    atom.content = lent_later ? Content::none : Content::undefined;
  });
}

/// What an attempt that is over has summed is nobody's, and may be zeroed (wgrad 2.4). A process that ends
/// says so by allocating anew.
void ClassRules::give_up(const Op& op) {
  if (std::get<Interrupt>(op.action).ended == Ended::process) return;
  is_given_up_ = true;
  for (Rank rank : plan_.ranks_of(op)) {
    for (std::int32_t a = 0; a < state_.atoms_per_rank(); ++a) {
      Atom& atom = state_.at(rank, a);
      state_.settle(rank, stream_, atom);
      if (atom.content != Content::valid && atom.content != Content::accumulated) continue;
      atom.content = Content::stale;
      atom.earlier_step = true;
    }
  }
}

void ClassRules::judge_open_leases(const Op& op, std::string_view clause, const std::string& sentence) {
  if (open_ == 0) return;
  for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
    if (plan_.buffers[b].role != BufferRole::lease_slot) continue;
    const BufferId buffer{static_cast<std::int32_t>(b)};
    const auto [first, last] = state_.atoms({buffer, 0, plan_.buffers[b].numel});
    for (Rank rank : plan_.ranks_of(op)) {
      for (std::int32_t a = first; a < last; ++a) {
        if (state_.at(rank, a).lease_open) breach(clause, {rank, buffer, a}, sentence);
      }
    }
  }
}

void ClassRules::end_step(const Op& op) {
  judge_open_leases(op, "W29", "the step ends with sums in an open lease, which were not reduced");
}

void ClassRules::begin_step(const Op& op) {
  if (is_given_up_)
    judge_open_leases(op, "W40",
                      "a lease of the attempt that was given up is open when the step begins again");
  is_given_up_ = false;
  for (Rank rank : plan_.ranks_of(op)) {
    for (std::int32_t a = 0; a < state_.atoms_per_rank(); ++a) {
      Atom& atom = state_.at(rank, a);
      state_.settle(rank, stream_, atom);
      if (atom.content == Content::valid || atom.content == Content::accumulated ||
          atom.content == Content::stale) {
        atom.content = Content::stale;
        atom.earlier_step = true;
        atom.scaled = false;
        atom.outer = false;
      }
      atom.tainted = false;
      atom.finalized = 0;
    }
  }
}

}  // namespace shardcheck
