#include "properties/diagnosis/history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "properties/diagnosis/contents.h"
#include "properties/diagnosis/reading.h"
#include "sim/executor/executor.h"

namespace shardcheck {
namespace {

constexpr std::size_t kMostRanks = 4;
constexpr std::int64_t kLargestRange = 65536;
constexpr std::size_t kMostContents = 6;

/// The op with which the oldest content of `actual` begins.
OpIndex begin_of(const Subject& subject, const Combination& actual) {
  std::int32_t first = subject.step;
  for (const Term& term : actual.terms) {
    const auto key =
        subject.data.key_of(subject.element.parameter.value, subject.reader.value, term.contribution);
    first = std::min(first, key.step);
  }
  const bool undefined = actual.undefined != 0 || !actual.is_known;
  if (undefined && first == 0) return OpIndex{0};
  const auto& ops = subject.planned.plan.ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (std::holds_alternative<BeginStep>(ops[i].action) && ops[i].why.step == first)
      return OpIndex{static_cast<std::int32_t>(i)};
  }
  return OpIndex{0};
}

/// True for what a rank does with its own contributions, before they are reduced.
bool is_local(const Op& op, BufferRole role) {
  const Purpose purpose = op.why.purpose;
  const bool reduced = purpose == Purpose::reduce || purpose == Purpose::unstage ||
                       purpose == Purpose::divide || purpose == Purpose::reduce_tied ||
                       purpose == Purpose::reduce_tensor || purpose == Purpose::reduce_shards ||
                       purpose == Purpose::clip;
  return !reduced && role != BufferRole::shard;
}

void read_finished(const Subject& subject, Backend& backend, Observation& seen) {
  const Plan& plan = subject.planned.plan;
  const auto domain =
      reduction_domain(subject.scenario, subject.element.parameter.value, subject.reader.value);
  for (const Placement& p : plan.owned) {
    const std::int64_t inside = subject.element.index - p.first;
    if (p.parameter != subject.element.parameter || inside < 0 || inside >= p.view.numel) continue;
    if (std::ranges::find(domain, p.rank.value) == domain.end()) continue;
    const View one{p.view.buffer, p.view.offset + inside, 1};
    seen.finished.emplace_back(p.rank, read_sightings(backend, plan, p.rank, one)[0].value);
    if (p.rank != subject.reader || p.view.numel > kLargestRange) continue;
    seen.first = p.first;
    for (const Sighting& s : read_sightings(backend, plan, p.rank, p.view)) seen.range.push_back(s.value);
  }
}

}  // namespace

std::vector<Rank> ranks_that_matter(const Subject& subject, const Combination& actual,
                                    const Combination& right) {
  std::vector<Rank> ranks{subject.reader};
  const auto also = [&](Rank rank) {
    const bool is_new = std::ranges::find(ranks, rank) == ranks.end();
    if (rank.value >= 0 && is_new && ranks.size() < kMostRanks) ranks.push_back(rank);
  };
  also(subject.rank);
  std::set<std::int64_t> contributions;
  for (const Term& term : actual.terms) contributions.insert(term.contribution);
  for (const Term& term : right.terms) contributions.insert(term.contribution);
  for (const std::int64_t i : contributions) {
    if (actual.weight_of(i) == right.weight_of(i)) continue;
    also(Rank{subject.data.key_of(subject.element.parameter.value, subject.reader.value, i).rank});
  }
  return ranks;
}

Observation observe(const Subject& subject, std::span<const Rank> ranks, const Combination& actual,
                    Backend& backend) {
  const Plan& plan = subject.planned.plan;
  const OpIndex begin = begin_of(subject, actual);
  const OpIndex end = subject.planned.finishes[static_cast<std::size_t>(subject.step)];
  Observation seen;
  std::vector<View> places;
  follow(subject.planned, subject.scenario, subject.data, subject.element, [&](const ElementWrite& write) {
    if (write.op < begin || write.op >= end) return;
    if (std::ranges::find(ranks, write.rank) == ranks.end()) return;
    const Op& op = plan.ops[static_cast<std::size_t>(write.op.value)];
    const bool reads_it = write.rank == subject.reader || write.rank == subject.rank;
    if (!reads_it && !is_local(op, plan.buffer(write.place.buffer).role)) return;
    const ParamId of = op.why.parameter;
    if (of.value >= 0 && of != subject.element.parameter) return;  // another user of a placeholder
    seen.events.push_back({write.op, describe(plan, op), write.rank.value, {}, {}, write.after});
    places.push_back(write.place);
  });
  std::size_t next = 0;
  RunEvents run_events;
  run_events.after_op = [&](OpIndex op) {
    for (; next < seen.events.size() && seen.events[next].op == op; ++next) {
      ByteEvent& event = seen.events[next];
      event.value = read_sightings(backend, plan, Rank{event.rank}, places[next])[0];
      event.contents = contents_of(subject, event.predicted, event.value.value, Rank{event.rank});
    }
  };
  run_events.at_finish = [&](std::int32_t step) {
    if (step == subject.step) read_finished(subject, backend, seen);
  };
  run(subject.planned, subject.scenario, subject.data, backend, run_events);
  return seen;
}

std::string to_text(const ByteEvent& event) {
  const std::size_t shown = std::min(event.contents.size(), kMostContents);
  std::string contents = fmt::format(
      "{}",
      fmt::join(event.contents.begin(), event.contents.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < event.contents.size()) contents += fmt::format(" and {} more", event.contents.size() - shown);
  return fmt::format("op {} on rank {}: {} -> {}: {}", event.op.value, event.rank, event.op_text,
                     to_text(event.value), contents);
}

}  // namespace shardcheck
