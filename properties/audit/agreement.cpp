#include "properties/audit/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>

#include "properties/audit/values.h"
#include "properties/diagnosis/reading.h"

namespace shardcheck {
namespace {

struct Held {
  std::int32_t rank = 0;
  const TracedTensor* tensor = nullptr;
};

/// All that the ranks have of one gradient or parameter.
using Holdings = std::map<std::tuple<Traced, std::int32_t, std::int32_t>, std::vector<Held>>;

Holdings holdings_of(const AuditTrace& trace) {
  Holdings holdings;
  for (const RankTrace& rank : trace.ranks) {
    for (const TracedTensor& t : rank.tensors) {
      if (t.what != Traced::probe) holdings[{t.what, t.step, t.parameter}].push_back({rank.rank, &t});
    }
  }
  return holdings;
}

std::string_view noun_of(Traced what) {
  return what == Traced::gradient ? "gradient" : "parameter";
}

/// The first element that both have with other bits.
std::optional<std::int64_t> difference(const TracedTensor& a, const TracedTensor& b) {
  for (std::int64_t i = std::max(a.first, b.first); i < std::min(a.last(), b.last()); ++i) {
    const float x = a.values[static_cast<std::size_t>(i - a.first)];
    const float y = b.values[static_cast<std::size_t>(i - b.first)];
    if (std::bit_cast<std::uint32_t>(x) != std::bit_cast<std::uint32_t>(y)) return i;
  }
  return std::nullopt;
}

void judge_replicas(const AuditTrace& trace, const std::vector<Held>& held, std::vector<Finding>& findings) {
  for (std::size_t i = 1; i < held.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const TracedTensor &a = *held[j].tensor, &b = *held[i].tensor;
      if (!a.is_present || !b.is_present) continue;
      const auto at = difference(a, b);
      if (!at) continue;
      Finding finding = finding_about(trace, b, held[i].rank);
      finding.clause = trace.audited.adapter.replicas > 1 ? "W29" : "W39";
      finding.sentence = fmt::format("rank {} and rank {} own the same elements of this {}, and they differ",
                                     held[j].rank, held[i].rank, noun_of(b.what));
      finding.element = *at;
      finding.has_values = true;
      finding.expected =
          sighting_of(static_cast<double>(a.values[static_cast<std::size_t>(*at - a.first)]), a.dtype);
      finding.actual =
          sighting_of(static_cast<double>(b.values[static_cast<std::size_t>(*at - b.first)]), b.dtype);
      findings.push_back(std::move(finding));
      return;
    }
  }
}

/// The first element that nobody has, or nothing.
std::optional<std::int64_t> hole(const std::vector<Held>& held, std::int64_t numel) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const Held& h : held) {
    if (h.tensor->is_present) ranges.emplace_back(h.tensor->first, h.tensor->last());
  }
  std::ranges::sort(ranges);
  std::int64_t covered = 0;
  for (const auto& [first, last] : ranges) {
    if (first > covered) break;
    covered = std::max(covered, last);
  }
  return covered < numel ? std::optional(covered) : std::nullopt;
}

/// A gradient that somebody lacks. A rank that owns no element has none and is right.
void judge_presence(const AuditTrace& trace, const std::vector<Held>& held, std::vector<Finding>& findings) {
  const Scenario& s = trace.audited.scenario;
  const TracedTensor& any = *held.front().tensor;
  const ScenarioParameter& p = s.parameters[static_cast<std::size_t>(any.parameter)];
  const bool is_gradient = any.what == Traced::gradient;
  const auto missing = hole(held, p.numel());
  if (!missing) return;
  const auto absent = std::ranges::find_if(held, [](const Held& h) { return !h.tensor->is_present; });
  const bool nobody = std::ranges::none_of(held, [](const Held& h) { return h.tensor->is_present; });
  const bool needs_none = !p.trainable || is_silent_step(s, any.parameter, any.step);
  if (is_gradient && nobody && needs_none) return;
  Finding finding = finding_about(trace, any, absent == held.end() ? -1 : absent->rank);
  finding.element = *missing;
  if (is_gradient && nobody) {
    finding.clause = "W1";
    finding.sentence = "no rank has a gradient, and there were contributions";
  } else if (is_gradient && absent != held.end()) {
    finding.clause = needs_none ? "W8" : "W1";
    finding.sentence = "this rank has no gradient while another one has its part of it";
  } else {
    finding.clause = "W28";
    finding.sentence = fmt::format("no rank owns this element of the {}", noun_of(any.what));
  }
  findings.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> judge_agreement(const AuditTrace& trace) {
  std::vector<Finding> findings;
  for (const auto& [key, held] : holdings_of(trace)) {
    judge_replicas(trace, held, findings);
    // A rank that was stopped early has not said everything.
    if (std::ssize(held) == trace.audited.scenario.ranks) judge_presence(trace, held, findings);
  }
  return findings;
}

}  // namespace shardcheck
