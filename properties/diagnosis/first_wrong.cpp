#include "properties/diagnosis/first_wrong.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/contract/monitor.h"

namespace shardcheck {
namespace {

/// A write of the element, by what it is for.
struct Step {
  OpIndex op;
  Rank rank;
  Combination before, after;
};
using Key = std::tuple<int, int, int, int, int, int>;  // purpose, role, use, microbatch, step, rank

struct Track {
  std::vector<std::pair<Key, Step>> steps;
  std::map<Key, std::vector<std::size_t>> by_key;
};

Track track_of(const Subject& subject, const Planned& planned, std::span<const Rank> ranks) {
  const Plan& plan = planned.plan;
  const OpIndex end = planned.finishes[static_cast<std::size_t>(subject.step)];
  Track track;
  follow(planned, subject.scenario, subject.data, subject.element, [&](const ElementWrite& write) {
    if (write.op >= end || std::ranges::find(ranks, write.rank) == ranks.end()) return;
    const Why& why = plan.ops[static_cast<std::size_t>(write.op.value)].why;
    if (why.parameter.value >= 0 && why.parameter != subject.element.parameter) return;
    const Key key{static_cast<int>(why.purpose),
                  static_cast<int>(plan.buffer(write.place.buffer).role),
                  why.use,
                  why.microbatch,
                  why.step,
                  write.rank.value};
    track.by_key[key].push_back(track.steps.size());
    track.steps.push_back({key, {write.op, write.rank, write.before, write.after}});
  });
  return track;
}

std::string text_of(const Planned& planned, OpIndex op) {
  return describe(planned.plan, planned.plan.ops[static_cast<std::size_t>(op.value)]);
}

/// Pairs the n-th step of a key with the n-th of the reference.
class Alignment {
 public:
  explicit Alignment(const Track& reference) : reference_(reference), used_(reference.steps.size(), false) {}

  const Step* next(const Key& key) {
    const auto of_key = reference_.by_key.find(key);
    std::size_t& taken = taken_[key];
    if (of_key == reference_.by_key.end() || taken == of_key->second.size()) return nullptr;
    const std::size_t index = of_key->second[taken++];
    used_[index] = true;
    return &reference_.steps[index].second;
  }
  /// The first step of the reference on that rank, before `limit`, which has no partner and changed the
  /// bytes.
  const Step* missing(Rank rank, OpIndex limit) const {
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const Step& step = reference_.steps[i].second;
      if (step.op >= limit) break;
      if (!used_[i] && step.rank == rank && !step.before.same_sum(step.after)) return &step;
    }
    return nullptr;
  }

 private:
  const Track& reference_;
  std::map<Key, std::size_t> taken_;
  std::vector<bool> used_;
};

OpIndex op_after_all(const Planned& planned) {
  return OpIndex{static_cast<std::int32_t>(planned.plan.ops.size())};
}

/// The op after which the reader takes the element.
std::optional<OpIndex> finish_of(const Subject& subject) {
  const Plan& plan = subject.planned.plan;
  const ElementPlaces places(plan, subject.element);
  for (std::int32_t i = subject.planned.finishes[static_cast<std::size_t>(subject.step)].value - 1; i >= 0;
       --i) {
    const Op& op = plan.ops[static_cast<std::size_t>(i)];
    if (!std::holds_alternative<Finish>(op.action) || op.why.step != subject.step) continue;
    for (std::size_t r = 0; r < plan.ranks_of(op).size(); ++r) {
      if (plan.ranks_of(op)[r] == subject.reader && places.find(op, subject.reader, plan.operand(op, 0)[r]))
        return OpIndex{i};
    }
  }
  return std::nullopt;
}

bool is_element_written_by(const Track& track, OpIndex op) {
  return std::ranges::any_of(track.steps, [&](const auto& step) { return step.second.op == op; });
}

std::optional<OpIndex> write_before(const Track& track, OpIndex op) {
  std::optional<Rank> rank;
  for (const auto& [key, step] : track.steps) {
    if (step.op == op && !rank) rank = step.rank;
  }
  std::optional<OpIndex> before;
  for (const auto& [key, step] : track.steps) {
    if (step.op < op && (!rank || step.rank == *rank)) before = step.op;
  }
  return before;
}

}  // namespace

FirstWrong compare_with_reference(const Subject& subject, std::span<const Rank> ranks) {
  const Track actual = track_of(subject, subject.planned, ranks);
  const Track reference = track_of(subject, subject.reference, ranks);
  Alignment alignment(reference);
  const auto at = [&](OpIndex op, std::string sentence) {
    return FirstWrong{write_before(actual, op), op, std::move(sentence)};
  };
  std::map<std::int32_t, OpIndex> extra;  // a rank: the first unpaired op that changed its bytes
  for (const auto& [key, step] : actual.steps) {
    const Step* partner = alignment.next(key);
    if (partner == nullptr) {
      if (!step.before.same_sum(step.after)) extra.emplace(step.rank.value, step.op);
      continue;
    }
    if (step.after.same_sum(partner->after)) {
      extra.erase(step.rank.value);
      continue;
    }
    const auto suspect = extra.find(step.rank.value);
    if (suspect != extra.end()) return at(suspect->second, "the reference has no such op here");
    if (const Step* missing = alignment.missing(step.rank, partner->op)) {
      return at(step.op, fmt::format("before it the reference does what this plan never does: {}",
                                     text_of(subject.reference, missing->op)));
    }
    return at(step.op, fmt::format("where the reference does: {}", text_of(subject.reference, partner->op)));
  }
  if (!extra.empty()) return at(extra.begin()->second, "the reference has no such op here");
  // A missing op that changes nothing in the end (zeroing before an overwrite) is no fault.
  const bool same = finished_for_reader(subject, subject.planned, subject.step)
                        .same_sum(finished_for_reader(subject, subject.reference, subject.step));
  if (same) return {};
  for (const Rank rank : ranks) {
    const Step* missing = alignment.missing(rank, op_after_all(subject.reference));
    if (missing == nullptr) continue;
    FirstWrong end{.first_wrong = finish_of(subject),
                   .sentence = fmt::format("it ends the step without what the reference does: {}",
                                           text_of(subject.reference, missing->op))};
    if (!actual.steps.empty()) end.last_right = actual.steps.back().second.op;
    return end;
  }
  return {};
}

FirstWrong compare_with_arithmetic(const Subject& subject, std::span<const ByteEvent> events) {
  const std::int32_t parameter = subject.element.parameter.value;
  const Exactness& exactness = subject.oracle.exactness(parameter);
  const auto allowed = [&](const ByteEvent& event) {
    if (exactness.is_exact) return 0.0;
    // Two computations of one sum, each within the bound of the oracle, are within twice that.
    double magnitude = 0;
    for (const Term& term : event.predicted.terms) {
      const auto key = subject.data.key_of(parameter, event.rank, term.contribution);
      magnitude += std::fabs(term.weight *
                             contribution_at(subject.scenario, subject.data, key, subject.element.index));
    }
    return 2 * (exactness.growth * magnitude + exactness.underflow);
  };
  const ByteEvent* previous = nullptr;
  for (const ByteEvent& event : events) {
    const double expected = event.predicted.value, seen = event.value.value;
    const bool right = !event.predicted.is_known || same_number(expected, seen) ||
                       std::fabs(expected - seen) <= allowed(event);
    if (!right) {
      FirstWrong wrong{.first_wrong = event.op};
      for (const ByteEvent& earlier : events) {
        if (earlier.rank == event.rank && earlier.op < event.op) previous = &earlier;
      }
      if (previous != nullptr) wrong.last_right = previous->op;
      wrong.sentence = fmt::format(
          "the plan is right up to here: the op leaves {} on rank {} where exact arithmetic gives {}", seen,
          event.rank, expected);
      return wrong;
    }
  }
  return {};
}

FirstWrong first_wrong(const Subject& subject, std::span<const Rank> ranks, std::span<const ByteEvent> events,
                       OpIndex found) {
  const Track track = track_of(subject, subject.planned, ranks);
  if (found.value >= 0) return {write_before(track, found), found, "the monitor names it"};
  FirstWrong wrong = compare_with_reference(subject, ranks);
  for (const Finding& finding : judge(subject.planned.plan)) {
    const bool of_element =
        finding.parameter == subject.element.parameter.value && is_element_written_by(track, finding.op);
    if (!of_element || (wrong.first_wrong && *wrong.first_wrong <= finding.op)) continue;
    wrong = {write_before(track, finding.op), finding.op,
             fmt::format("the monitor names it: {} ({})", finding.sentence, finding.clause)};
  }
  return wrong.first_wrong || !wrong.sentence.empty() ? wrong : compare_with_arithmetic(subject, events);
}

}  // namespace shardcheck
