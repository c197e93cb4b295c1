#include "properties/audit/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace shardcheck {
namespace {

using Group = std::vector<std::int32_t>;
using Sequence = std::vector<const CollectiveEvent*>;

/// What one rank issued in one group.
struct OfRank {
  const RankTrace* trace = nullptr;
  Sequence sequence;
};

/// Collectives in which every rank gives and gets the same number of elements.
bool has_even_sizes(const CollectiveEvent& event) {
  constexpr std::string_view uneven[] = {"alltoall", "all_to_all", "gather_", "scatter_", "send", "recv"};
  if (event.kind == "allgather" || event.kind == "gather" || event.kind == "scatter") return false;
  return std::ranges::none_of(uneven, [&](std::string_view part) { return event.kind.starts_with(part); });
}

bool same_call(const CollectiveEvent& a, const CollectiveEvent& b) {
  const bool kinds = a.kind == b.kind && a.reduction == b.reduction && a.dtype == b.dtype;
  return kinds && (!has_even_sizes(a) || (a.sent == b.sent && a.received == b.received));
}

bool has_stopped(const RankTrace& rank) {
  return rank.outcome != Outcome::finished;
}

std::set<Group> groups_of(const AuditTrace& trace) {
  std::set<Group> groups;
  for (const RankTrace& rank : trace.ranks) {
    for (const CollectiveEvent& event : rank.collectives) groups.insert(event.group);
  }
  return groups;
}

std::vector<OfRank> sequences_of(const AuditTrace& trace, const Group& group) {
  std::vector<OfRank> all;
  for (const std::int32_t rank : group) {
    if (rank < 0 || rank >= std::ssize(trace.ranks)) continue;
    OfRank of{.trace = &trace.ranks[static_cast<std::size_t>(rank)]};
    for (const CollectiveEvent& event : of.trace->collectives) {
      if (event.group == group) of.sequence.push_back(&event);
    }
    all.push_back(std::move(of));
  }
  return all;
}

/// The position of the first difference, or -1. A sequence that ends early differs only where its rank is
/// done.
std::ptrdiff_t first_difference(const std::vector<OfRank>& ranks) {
  std::size_t longest = 0;
  for (const OfRank& rank : ranks) longest = std::max(longest, rank.sequence.size());
  for (std::size_t i = 0; i < longest; ++i) {
    const CollectiveEvent* first = nullptr;
    bool ended = false;
    for (const OfRank& rank : ranks) {
      if (i >= rank.sequence.size()) {
        ended |= !has_stopped(*rank.trace);
        continue;
      }
      if (first == nullptr) first = rank.sequence[i];
      if (!same_call(*first, *rank.sequence[i])) return static_cast<std::ptrdiff_t>(i);
    }
    if (ended) return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

std::string waiting_text(const RankTrace& rank) {
  if (rank.outcome == Outcome::raised || rank.outcome == Outcome::died)
    return fmt::format("rank {} {}: {}", rank.rank, name_of(rank.outcome), rank.error);
  if (rank.outcome == Outcome::finished) return fmt::format("rank {} finished", rank.rank);
  const auto open = std::ranges::find(rank.collectives, false, &CollectiveEvent::completed);
  std::string in = "it had issued no collective";
  if (open != rank.collectives.end())
    in = fmt::format("the oldest that had not completed: #{} {}", open - rank.collectives.begin(),
                     to_text(*open));
  else if (!rank.collectives.empty())  // NCCL may report a collective as completed that never ends
    in = fmt::format("the last that it issued: #{} {}", rank.collectives.size() - 1,
                     to_text(rank.collectives.back()));
  const std::string where = rank.waiting.empty() ? "" : "; it was in " + rank.waiting.back();
  return fmt::format("rank {} waited at the deadline; {}{}", rank.rank, in, where);
}

Finding mismatch(const std::vector<OfRank>& ranks, const Group& group, std::size_t at) {
  Finding finding{.clause = "W30"};
  finding.sentence = fmt::format(
      "the ranks of the group {{{}}} issue different collectives: number {} is the first that differs",
      fmt::join(group, ", "), at);
  for (const OfRank& rank : ranks) {
    const bool has = at < rank.sequence.size();
    finding.history.push_back(
        fmt::format("rank {}: {}", rank.trace->rank,
                    has ? fmt::format("#{} {}", at, to_text(*rank.sequence[at]))
                        : fmt::format("nothing; it issued {} in all", rank.sequence.size())));
    if (!has || finding.step >= 0) continue;
    finding.step = rank.sequence[at]->step;
    finding.microbatch = rank.sequence[at]->microbatch;
  }
  for (const OfRank& rank : ranks) {
    if (has_stopped(*rank.trace)) finding.history.push_back(waiting_text(*rank.trace));
  }
  return finding;
}

}  // namespace

std::int64_t collectives_of(const AuditTrace& trace) {
  std::int64_t count = 0;
  for (const RankTrace& rank : trace.ranks) count += std::ssize(rank.collectives);
  return count;
}

std::vector<GroupSchedule> schedules_of(const AuditTrace& trace) {
  std::vector<GroupSchedule> schedules;
  for (const Group& group : groups_of(trace)) {
    const auto ranks = sequences_of(trace, group);
    GroupSchedule schedule{.group = group, .first_difference = first_difference(ranks)};
    for (const OfRank& rank : ranks) {
      schedule.ranks.push_back(rank.trace->rank);
      schedule.sequences.push_back(rank.sequence);
    }
    schedules.push_back(std::move(schedule));
  }
  return schedules;
}

std::vector<Finding> judge_schedule(const AuditTrace& trace) {
  std::vector<Finding> findings;
  for (const Group& group : groups_of(trace)) {
    const auto ranks = sequences_of(trace, group);
    const std::ptrdiff_t at = first_difference(ranks);
    if (at >= 0) findings.push_back(mismatch(ranks, group, static_cast<std::size_t>(at)));
  }
  const bool hung = std::ranges::any_of(trace.ranks, [](const RankTrace& rank) {
    return rank.outcome == Outcome::deadline || rank.outcome == Outcome::died;
  });
  const bool raised =
      std::ranges::any_of(trace.ranks, [](const RankTrace& rank) { return rank.outcome == Outcome::raised; });
  if (!findings.empty() || !hung || raised) return findings;
  Finding finding{.clause = "W21", .sentence = "the run never finished, and no rank said why"};
  for (const RankTrace& rank : trace.ranks) finding.history.push_back(waiting_text(rank));
  findings.push_back(std::move(finding));
  return findings;
}

}  // namespace shardcheck
