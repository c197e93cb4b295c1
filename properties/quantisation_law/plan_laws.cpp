#include "properties/quantisation_law/plan_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace shardcheck {
namespace {

using namespace recipe;
using Ranges = std::vector<layout::Range>;

Finding finding(std::string_view clause, std::size_t rank, std::string sentence) {
  return {.clause = std::string(clause),
          .sentence = std::move(sentence),
          .rank = static_cast<std::int32_t>(rank)};
}

bool is_collective(const Step& step) {
  return step.act == Act::reduce || step.act == Act::gather;
}

bool owns_any(const ShardedCall& call, const Step& step, std::size_t rank) {
  for (std::int32_t i = step.first; i < step.first + step.count; ++i) {
    const auto& owned = call.weights[static_cast<std::size_t>(i)].owned;
    if (rank < owned.size() && !owned[rank].empty()) return true;
  }
  return false;
}

/// The collectives of a schedule that speak of weights held by exactly `ranks` ranks.
std::vector<Step> collectives_of(const ShardedCall& call, const std::vector<Step>& schedule,
                                 std::size_t ranks) {
  std::vector<Step> steps;
  for (const Step& step : schedule) {
    if (is_collective(step) && call.weights[static_cast<std::size_t>(step.first)].owned.size() == ranks)
      steps.push_back(step);
  }
  return steps;
}

std::string text_of(const Step& step) {
  std::string text =
      fmt::format("{} of weights {} to {}", name_of(step.act), step.first, step.first + step.count - 1);
  if (step.act == Act::reduce)
    text += fmt::format(", {} elements as {}", step.length, step.wire == AmaxWire::f32_max ? "fp32" : "bits");
  return text + fmt::format(", ranks {} to {}", step.first_rank, step.first_rank + step.group - 1);
}

/// Which ranks take part is F48's question.
bool is_same_call(Step a, Step b) {
  a.first_rank = b.first_rank = a.group = b.group = 0;
  return a == b;
}

/// F45, and F43 where the collective that is missing is of weights that the rank owns nothing of.
std::optional<Finding> differing_collectives(const ShardedCall& call, const ShardedPlan& plan) {
  for (const ShardedWeight& weight : call.weights) {
    const std::size_t ranks = weight.owned.size();
    const auto expected = collectives_of(call, plan.schedules[0], ranks);
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      const auto actual = collectives_of(call, plan.schedules[rank], ranks);
      for (std::size_t k = 0; k < std::max(expected.size(), actual.size()); ++k) {
        if (k < expected.size() && k < actual.size() && is_same_call(expected[k], actual[k])) continue;
        const Step& missing = k < expected.size() ? expected[k] : actual[k];
        const bool left_out = k >= expected.size() || k >= actual.size() || expected.size() != actual.size();
        const std::size_t lacking = expected.size() > actual.size() ? rank : 0;
        const bool empty = left_out && !owns_any(call, missing, lacking);
        return finding(
            empty ? "F43" : "F45", rank,
            fmt::format("collective {} is {} on rank 0 and {} on rank {}{}", k,
                        k < expected.size() ? text_of(expected[k]) : "missing",
                        k < actual.size() ? text_of(actual[k]) : "missing", rank,
                        empty ? fmt::format("; rank {} owns nothing of these weights", lacking) : ""));
      }
    }
  }
  return std::nullopt;
}

/// F46: each act comes after what it reads.
std::optional<Finding> wrong_order(const ShardedCall& call, const ShardedPlan& plan) {
  struct Before {
    Act first, then;
    bool with_given_scale;  ///< holds even where the scale does not come from this measurement
  };
  constexpr Before kOrder[] = {{Act::measure, Act::reduce, true},
                               {Act::reduce, Act::scale, false},
                               {Act::scale, Act::cast, true},
                               {Act::cast, Act::gather, true},
                               {Act::gather, Act::derive, true}};
  for (std::size_t rank = 0; rank < plan.schedules.size(); ++rank) {
    for (std::int32_t i = 0; i < std::ssize(call.weights); ++i) {
      std::array<std::ptrdiff_t, 6> place;
      place.fill(-1);
      const auto& schedule = plan.schedules[rank];
      for (std::size_t k = 0; k < schedule.size(); ++k) {
        if (schedule[k].first <= i && i < schedule[k].first + schedule[k].count)
          place[static_cast<std::size_t>(schedule[k].act)] = static_cast<std::ptrdiff_t>(k);
      }
      for (const Before& before : kOrder) {
        if (call.recipe->formula == ScaleFormula::given && !before.with_given_scale) continue;
        const auto first = place[static_cast<std::size_t>(before.first)];
        const auto then = place[static_cast<std::size_t>(before.then)];
        if (first >= 0 && then >= 0 && then < first)
          return finding("F46", rank,
                         fmt::format("rank {} does {} of {} before {}", rank, name_of(before.then),
                                     call.weights[static_cast<std::size_t>(i)].name, name_of(before.first)));
      }
    }
  }
  return std::nullopt;
}

/// F48: the ranks of every collective are those that hold its weights.
std::optional<Finding> wrong_group(const ShardedCall& call, const ShardedPlan& plan) {
  for (std::size_t rank = 0; rank < plan.schedules.size(); ++rank) {
    for (const Step& step : plan.schedules[rank]) {
      if (step.act != Act::reduce) continue;
      for (std::int32_t i = step.first; i < step.first + step.count; ++i) {
        const ShardedWeight& weight = call.weights[static_cast<std::size_t>(i)];
        if (step.first_rank == 0 && step.group == std::ssize(weight.owned)) continue;
        return finding(
            "F48", rank,
            fmt::format(
                "the amaxes of {} are reduced over ranks {} to {}, and its pieces lie on ranks 0 to {}",
                weight.name, step.first_rank, step.first_rank + step.group - 1, weight.owned.size() - 1));
      }
    }
  }
  return std::nullopt;
}

/// The first element of `ranges` that `owned` does not hold, or -1.
std::int64_t first_foreign(const Ranges& ranges, const Ranges& owned) {
  for (const layout::Range& range : ranges) {
    std::int64_t at = range.lo;
    while (at < range.hi) {
      const auto home =
          std::ranges::find_if(owned, [&](const layout::Range& r) { return r.lo <= at && at < r.hi; });
      if (home == owned.end()) return at;
      at = home->hi;
    }
  }
  return -1;
}

/// F42: a rank casts and sends its own elements.
std::optional<Finding> foreign_elements(const ShardedCall& call, const ShardedPlan& plan) {
  for (std::size_t i = 0; i < call.weights.size(); ++i) {
    for (std::size_t rank = 0; rank < call.weights[i].owned.size(); ++rank) {
      const Part& part = plan.weights[i].parts[rank];
      for (const auto& [name, ranges] : {std::pair{"writes", &part.cast}, std::pair{"sends", &part.sent}}) {
        const std::int64_t element = first_foreign(*ranges, call.weights[i].owned[rank]);
        if (element < 0) continue;
        Finding found = finding("F42", rank,
                                fmt::format("rank {} {} element {} of {}, which it does not own", rank, name,
                                            element, call.weights[i].name));
        found.parameter_name = call.weights[i].name;
        found.element = element;
        return found;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void judge_plan(const ShardedCall& call, const ShardedPlan& plan, std::vector<Finding>& findings) {
  for (const auto law : {differing_collectives, wrong_order, wrong_group, foreign_elements}) {
    if (auto found = law(call, plan)) findings.push_back(std::move(*found));
  }
}

}  // namespace shardcheck
