#include "tools/shardcheck/explain/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/contract/clauses.h"
#include "core/contract/ordering.h"
#include "sim/cost/timeline.h"
#include "tools/shardcheck/explain/page_template.h"
#include "tools/shardcheck/html_page.h"

namespace shardcheck {
namespace {

using nlohmann::ordered_json;

/// Half-open range of op indices.
struct Stretch {
  std::int32_t first = 0, last = 0;
  bool holds(std::int32_t op) const { return op >= first && op < last; }
};

/// The ops around the first wrong one: the finding's step, as far as it fits.
Stretch stretch_of(const Explained& explained) {
  const auto size = static_cast<std::int32_t>(explained.plan.ops.size());
  if (size <= kMostOpsOnPage) return {0, size};
  const Diagnosis& d = explained.diagnosis;
  const std::int32_t centre = d.first_wrong ? d.first_wrong->value : std::max(d.finding.op.value, 0);
  const std::int32_t first = std::clamp(centre - kMostOpsOnPage / 2, 0, size - kMostOpsOnPage);
  return {first, first + kMostOpsOnPage};
}

/// The finding's rank first, then those of the history, then the others.
std::vector<std::int32_t> ranks_of(const Explained& explained) {
  std::vector<std::int32_t> ranks;
  const auto add = [&](std::int32_t rank) {
    const bool is_new = std::ranges::find(ranks, rank) == ranks.end();
    if (rank >= 0 && rank < explained.plan.ranks && is_new && std::ssize(ranks) < kMostRanksDrawn)
      ranks.push_back(rank);
  };
  add(explained.diagnosis.finding.rank);
  for (const ByteEvent& event : explained.diagnosis.history) add(event.rank);
  for (std::int32_t rank = 0; rank < explained.plan.ranks; ++rank) add(rank);
  std::ranges::sort(ranks);
  return ranks;
}

/// The timeline, with what it points at: ops of races and the first wrong one.
std::vector<cost::Span> spans_of(const Explained& explained) {
  std::set<OpIndex> pointed_at = {explained.diagnosis.finding.op};
  if (explained.diagnosis.first_wrong) pointed_at.insert(*explained.diagnosis.first_wrong);
  for (const Race& race : races_of(explained.plan)) pointed_at.insert({race.first, race.second});
  std::vector<cost::Span> spans = cost::timeline_of(explained.plan, cost::Gpu{});
  cost::add_instants(explained.plan, pointed_at, spans);
  return spans;
}

ordered_json ops_json(const Explained& explained, Stretch stretch, const std::vector<std::int32_t>& ranks) {
  std::map<std::int32_t, ordered_json> ops;
  for (const cost::Span& span : spans_of(explained)) {
    const auto row = std::ranges::find(ranks, span.rank.value);
    if (!stretch.holds(span.op.value) || row == ranks.end()) continue;
    const Op& op = explained.plan.ops[static_cast<std::size_t>(span.op.value)];
    ordered_json& json = ops[span.op.value];
    if (json.is_null()) {
      json = {{"op", span.op.value},
              {"text", describe(explained.plan, op)},
              {"purpose", name_of(op.why.purpose)},
              {"stream", static_cast<int>(op.stream)},
              {"step", op.why.step},
              {"microbatch", op.why.microbatch},
              {"spans", ordered_json::array()}};
    }
    json["spans"].push_back({row - ranks.begin(), span.begin * 1e6, span.end * 1e6});
  }
  ordered_json list = ordered_json::array();
  for (auto& [index, json] : ops) list.push_back(std::move(json));
  return list;
}

ordered_json races_json(const Plan& plan, Stretch stretch, const std::vector<std::int32_t>& ranks) {
  ordered_json list = ordered_json::array();
  for (const Race& race : races_of(plan)) {
    const auto row = std::ranges::find(ranks, race.rank.value);
    if (row == ranks.end() || !stretch.holds(race.first.value) || !stretch.holds(race.second.value)) continue;
    list.push_back({race.first.value, race.second.value, row - ranks.begin(), edge_of(plan, race).id});
  }
  return list;
}

ordered_json history_json(const Diagnosis& diagnosis) {
  ordered_json list = ordered_json::array();
  for (const ByteEvent& event : diagnosis.history) {
    list.push_back({{"op", event.op.value},
                    {"rank", event.rank},
                    {"text", event.op_text},
                    {"value", to_text(event.value)},
                    {"contents", event.contents}});
  }
  return list;
}

ordered_json counterfactuals_json(const Diagnosis& diagnosis) {
  ordered_json list = ordered_json::array();
  for (const Counterfactual& each : diagnosis.counterfactuals)
    list.push_back({{"change", each.change}, {"mends", each.mends}, {"instead", each.instead}});
  return list;
}

ordered_json finding_json(const Finding& finding) {
  const Clause& broken = clause(finding.clause);
  ordered_json json = {{"clause", finding.clause},
                       {"title", broken.title},
                       {"rule", broken.sentence},
                       {"source", broken.source},
                       {"sentence", finding.sentence},
                       {"op", finding.op.value},
                       {"op_text", finding.op_text},
                       {"stream", finding.stream},
                       {"rank", finding.rank},
                       {"step", finding.step},
                       {"microbatch", finding.microbatch},
                       {"parameter", finding.parameter_name},
                       {"element", finding.element},
                       {"provenance", finding.provenance},
                       {"history", finding.history}};
  if (finding.has_values) {
    json["expected"] = to_text(finding.expected);
    json["actual"] = to_text(finding.actual);
  }
  return json;
}

}  // namespace

std::string explain_data(const Explained& explained) {
  const Diagnosis& diagnosis = explained.diagnosis;
  const Stretch stretch = stretch_of(explained);
  const std::vector<std::int32_t> ranks = ranks_of(explained);
  ordered_json notes = diagnosis.notes;
  const auto left_out = static_cast<std::int32_t>(explained.plan.ops.size()) - (stretch.last - stretch.first);
  if (left_out > 0)
    notes.push_back(fmt::format("The timeline shows ops {} to {}; {} others are left out.", stretch.first,
                                stretch.last - 1, left_out));
  if (std::ssize(ranks) < explained.plan.ranks)
    notes.push_back(fmt::format("The timeline shows {} of {} ranks.", ranks.size(), explained.plan.ranks));
  const ordered_json data = {
      {"finding", finding_json(diagnosis.finding)},
      {"scenario", describe(explained.scenario)},
      {"last_right", diagnosis.last_right ? diagnosis.last_right->value : -1},
      {"first_wrong", diagnosis.first_wrong ? diagnosis.first_wrong->value : -1},
      {"because", diagnosis.first_wrong_because},
      {"history", history_json(diagnosis)},
      {"counterfactuals", counterfactuals_json(diagnosis)},
      {"signatures", diagnosis.signatures},
      {"lookalikes", diagnosis.lookalikes},
      {"notes", std::move(notes)},
      {"reproduce", explained.reproduce},
      {"ranks", ranks},
      {"ops", ops_json(explained, stretch, ranks)},
      {"races", races_json(explained.plan, stretch, ranks)},
  };
  return data.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string explain_page(const Explained& explained) {
  return filled({kExplainTemplate, explain_data(explained)});
}

}  // namespace shardcheck
