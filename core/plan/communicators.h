// Communicators: which ranks call which collectives together, and whether the n-th calls of all of them are
// one. A communicator is a set of ranks; where a plan has an Enqueue of it, Enqueues say who calls what
// there, else its Communicates do. Next: symmetry.h, which asks whether the streams get through the calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/plan/plan.h"

namespace shardcheck {

/// A collective that one rank calls, by an Enqueue or by a Communicate.
struct RankCall {
  Rank rank;
  OpIndex op{-1};  ///< -1: the rank calls nothing more on the communicator
  bool operator==(const RankCall&) const = default;
};

/// What the n-th calls of a communicator's ranks do to each other.
enum class Meeting : std::uint8_t {
  mix,   ///< alike but for their ranges: they complete, and mix what does not belong together
  hang,  ///< of another collective, reduction, type or size, or missing: they never complete
};

/// The n-th calls of a communicator differ.
struct Mismatch {
  Meeting meeting{};
  std::int64_t position = 0;    ///< n, from 0
  std::vector<RankCall> calls;  ///< one a rank of the communicator, in the order of the communicator
  std::int64_t more = 0;        ///< later positions that differ in the same way
};

/// A call of one rank: its op, and the number of the rank among the op's.
struct Call {
  std::int32_t op = -1, at = 0;
};

struct Communicator {
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  std::vector<Rank> ranks;               ///< ascending
  std::vector<std::int32_t> number_of;   ///< a rank of the plan: its number in `ranks`
  bool is_listed = false;                ///< its calls are Enqueues
  std::vector<std::vector<Call>> calls;  ///< a rank of the communicator, in the order of the plan
  std::int64_t hangs_at = kNever;        ///< the position that never completes

  /// The number of a rank that is in it.
  std::size_t number(Rank rank) const;
};

/// The communicators of a plan and who calls what on them.
class Communicators {
 public:
  explicit Communicators(const Plan& plan);

  bool are_any_listed() const { return std::ranges::any_of(all_, &Communicator::is_listed); }
  const Communicator& at(std::int32_t id) const { return all_[static_cast<std::size_t>(id)]; }
  const std::vector<Communicator>& all() const { return all_; }

  /// Visits (communicator, rank, its call) of an op, in the order of its ranks.
  template <class Visit>
  void each_call(std::int32_t index, Visit visit) {
    const Op& op = plan_.ops[static_cast<std::size_t>(index)];
    const auto ranks = plan_.ranks_of(op);
    const auto* enqueue = std::get_if<Enqueue>(&op.action);
    const auto* communicate = std::get_if<Communicate>(&op.action);
    for (std::int32_t i = 0; i < op.ranks && (enqueue != nullptr || communicate != nullptr); ++i) {
      const std::int32_t id =
          enqueue != nullptr
              ? of(enqueue->members, enqueue->what.group)
              : of(op.first_rank + i / communicate->group * communicate->group, communicate->group);
      if (at(id).is_listed == (enqueue != nullptr))
        visit(id, ranks[static_cast<std::size_t>(i)], Call{index, i});
    }
  }

  /// Of every communicator the first meeting that mixes and the one that hangs, which is its last: no later
  /// call completes.
  std::vector<Mismatch> mismatches();

 private:
  /// The communicator of `group` ranks from `members` on in the arena; two places with the same ranks are
  /// one.
  std::int32_t of(std::int32_t members, std::int32_t group);
  void add(std::vector<Rank> ranks);

  const Plan& plan_;
  std::vector<Communicator> all_;
  std::unordered_map<std::int64_t, std::int32_t> by_place_;
  std::map<std::vector<Rank>, std::int32_t> by_ranks_;
  std::int64_t last_place_ = -1;
  std::int32_t last_ = -1;
};

/// The range of a call that names it on rank number `i` of the op: the input of a reduction, the output of a
/// gather.
View called_range(const Plan& plan, const Op& op, std::int32_t i);

/// The collective of an Enqueue or a Communicate, else null.
const Communicate* collective_of(const Action& action);

}  // namespace shardcheck
