#include "core/plan/communicators.h"

#include <optional>
#include <utility>

#include "core/assert.h"

namespace shardcheck {
namespace {

const Op& op_at(const Plan& plan, std::int32_t index) {
  return plan.ops[static_cast<std::size_t>(index)];
}

/// The same collective, reduction, type and size, so that the two complete.
bool are_alike(const Plan& plan, const Call& a, const Call& b) {
  const Op &one = op_at(plan, a.op), &other = op_at(plan, b.op);
  const Communicate &c = *collective_of(one.action), &d = *collective_of(other.action);
  const View in = plan.operand(one, 0)[static_cast<std::size_t>(a.at)];
  const View other_in = plan.operand(other, 0)[static_cast<std::size_t>(b.at)];
  return c.collective == d.collective && c.reduction == d.reduction && in.numel == other_in.numel &&
         plan.buffer(in.buffer).dtype == plan.buffer(other_in.buffer).dtype;
}

/// What the calls of number `position` do to each other; nothing where they are one.
std::optional<Meeting> meeting_at(const Plan& plan, const Communicator& communicator, std::size_t position) {
  std::optional<Meeting> seen;
  const Call* first = nullptr;
  for (const std::vector<Call>& calls : communicator.calls) {
    if (position >= calls.size()) return Meeting::hang;
    const Call& call = calls[position];
    if (first == nullptr) first = &call;
    if (call.op == first->op) continue;
    if (!are_alike(plan, *first, call)) return Meeting::hang;
    const bool same = called_range(plan, op_at(plan, call.op), call.at) ==
                      called_range(plan, op_at(plan, first->op), first->at);
    if (!same) seen = Meeting::mix;
  }
  return seen;
}

Mismatch mismatch_at(const Communicator& communicator, std::size_t position, Meeting meeting) {
  Mismatch mismatch{.meeting = meeting, .position = static_cast<std::int64_t>(position), .calls = {}};
  for (std::size_t i = 0; i < communicator.ranks.size(); ++i) {
    const std::vector<Call>& calls = communicator.calls[i];
    mismatch.calls.push_back(
        {communicator.ranks[i], OpIndex{position < calls.size() ? calls[position].op : -1}});
  }
  return mismatch;
}

/// The first meeting of each kind; a hang is the last.
void compare(const Plan& plan, Communicator& communicator, std::vector<Mismatch>& mismatches) {
  std::size_t most = 0;
  for (const auto& calls : communicator.calls) most = std::max(most, calls.size());
  std::optional<std::size_t> mixed;
  for (std::size_t position = 0; position < most; ++position) {
    const auto meeting = meeting_at(plan, communicator, position);
    if (!meeting) continue;
    if (*meeting == Meeting::mix && mixed) {
      ++mismatches[*mixed].more;
      continue;
    }
    if (*meeting == Meeting::mix) mixed = mismatches.size();
    mismatches.push_back(mismatch_at(communicator, position, *meeting));
    if (*meeting == Meeting::mix) continue;
    communicator.hangs_at = static_cast<std::int64_t>(position);
    return;
  }
}

}  // namespace

std::size_t Communicator::number(Rank rank) const {
  const std::int32_t number = number_of[static_cast<std::size_t>(rank.value)];
  SC_ASSERT(number >= 0, "a rank calls a collective of a communicator that it is not in");
  return static_cast<std::size_t>(number);
}

Communicators::Communicators(const Plan& plan) : plan_(plan) {
  for (const Op& op : plan.ops) {
    const auto* enqueue = std::get_if<Enqueue>(&op.action);
    if (enqueue == nullptr) continue;
    all_[static_cast<std::size_t>(of(enqueue->members, enqueue->what.group))].is_listed = true;
  }
  for (std::int32_t i = 0; are_any_listed() && i < std::ssize(plan.ops); ++i) {
    each_call(i, [&](std::int32_t id, Rank rank, const Call& call) {
      Communicator& communicator = all_[static_cast<std::size_t>(id)];
      communicator.calls[communicator.number(rank)].push_back(call);
    });
  }
}

std::int32_t Communicators::of(std::int32_t members, std::int32_t group) {
  const std::int64_t place = (std::int64_t{members} << 32) | group;
  if (place == last_place_) return last_;
  const auto [known, is_new_place] = by_place_.try_emplace(place, 0);
  if (is_new_place) {
    std::vector<Rank> ranks(plan_.rank_arena.begin() + members, plan_.rank_arena.begin() + members + group);
    std::ranges::sort(ranks);
    const auto [found, is_new] = by_ranks_.try_emplace(ranks, static_cast<std::int32_t>(all_.size()));
    if (is_new) add(std::move(ranks));
    known->second = found->second;
  }
  last_place_ = place;
  return last_ = known->second;
}
void Communicators::add(std::vector<Rank> ranks) {
  Communicator& added = all_.emplace_back();
  added.number_of.assign(static_cast<std::size_t>(plan_.ranks), -1);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    added.number_of[static_cast<std::size_t>(ranks[i].value)] = static_cast<std::int32_t>(i);
  added.calls.resize(ranks.size());
  added.ranks = std::move(ranks);
}

std::vector<Mismatch> Communicators::mismatches() {
  std::vector<Mismatch> mismatches;
  for (Communicator& each : all_) compare(plan_, each, mismatches);
  return mismatches;
}

const Communicate* collective_of(const Action& action) {
  if (const auto* enqueue = std::get_if<Enqueue>(&action)) return &enqueue->what;
  return std::get_if<Communicate>(&action);
}

View called_range(const Plan& plan, const Op& op, std::int32_t i) {
  const bool gathers = collective_of(op.action)->collective == Collective::all_gather;
  return plan.operand(op, gathers ? 1 : 0)[static_cast<std::size_t>(i)];
}

}  // namespace shardcheck
