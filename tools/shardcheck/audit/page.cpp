#include "tools/shardcheck/audit/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/contract/clauses.h"
#include "properties/audit/readings.h"
#include "properties/audit/schedule.h"
#include "tools/shardcheck/audit/page_template.h"
#include "tools/shardcheck/html_page.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

using nlohmann::ordered_json;

/// Where a finding is, as far as it says.
std::string place_of(const Finding& finding) {
  std::vector<std::string> parts;
  if (finding.rank >= 0) parts.push_back(fmt::format("rank {}", finding.rank));
  if (finding.step >= 0) parts.push_back(fmt::format("step {}", finding.step));
  if (finding.microbatch >= 0) parts.push_back(fmt::format("microbatch {}", finding.microbatch));
  if (!finding.parameter_name.empty()) parts.push_back(fmt::format("parameter {}", finding.parameter_name));
  if (finding.element >= 0) parts.push_back(fmt::format("element {}", finding.element));
  return fmt::format("{}", fmt::join(parts, ", "));
}

ordered_json findings_json(const AuditVerdict& verdict) {
  ordered_json list = ordered_json::array();
  for (const AuditFinding& each : telling_first(verdict)) {
    if (list.size() == kMostFindingsOnPage) break;
    const Finding& finding = each.finding;
    const Clause& broken = clause(finding.clause);
    ordered_json json = {
        {"clause", finding.clause},         {"title", broken.title},        {"rule", broken.sentence},
        {"source", broken.source},          {"sentence", finding.sentence}, {"where", place_of(finding)},
        {"provenance", finding.provenance}, {"history", finding.history},   {"signatures", each.signatures}};
    if (finding.has_values) {
      json["expected"] = to_text(finding.expected);
      json["actual"] = to_text(finding.actual);
    }
    list.push_back(std::move(json));
  }
  return list;
}

/// Whether a finding is about what that rank reads of the gradient. One that says that nobody has a gradient
/// names one rank and means all that have none.
bool is_wrong(const AuditVerdict& verdict, const GradientReading& reading, const Reader& reader) {
  return std::ranges::any_of(verdict.findings, [&](const AuditFinding& each) {
    const Finding& f = each.finding;
    return f.parameter == reading.parameter && f.step == reading.step &&
           (f.rank == reader.rank || !reader.is_present) && f.clause != "W32";
  });
}

ordered_json readers_json(const GradientReading& reading, const AuditVerdict& verdict) {
  ordered_json readers = ordered_json::array();
  for (const Reader& reader : reading.readers) {
    const std::int64_t count = reader.last - reader.first;
    std::string owns =
        count > 0 ? fmt::format("elements {} to {}", reader.first, reader.last - 1) : "nothing";
    if (!reader.is_present) owns = "no gradient";
    readers.push_back({{"rank", reader.rank},
                       {"owns", std::move(owns)},
                       {"undecoded", reader.undecoded},
                       {"wrong", is_wrong(verdict, reading, reader)}});
  }
  return readers;
}

ordered_json contributions_json(const GradientReading& reading) {
  ordered_json list = ordered_json::array();
  for (const ReadContribution& each : reading.contributions) {
    if (list.size() == kMostContributionsOnPage) break;
    const ContributionKey& key = each.key;
    list.push_back({key.step, key.rank, key.microbatch, key.use, each.expected, each.times});
  }
  return list;
}

ordered_json gradients_json(const Audited& audited, ordered_json& notes) {
  const Scenario& scenario = audited.trace.audited.scenario;
  auto readings = readings_of(audited.trace);
  const auto spoilt = [&](const GradientReading& reading) {
    return std::ranges::any_of(reading.readers,
                               [&](const Reader& r) { return is_wrong(audited.verdict, reading, r); });
  };
  std::ranges::stable_partition(readings, spoilt);
  if (readings.size() > kMostGradientsOnPage) {
    notes.push_back(fmt::format("{} of {} gradients are shown, wrong ones first.", kMostGradientsOnPage,
                                readings.size()));
    readings.resize(kMostGradientsOnPage);
  }
  ordered_json list = ordered_json::array();
  for (const GradientReading& reading : readings) {
    const auto& parameter = scenario.parameters[static_cast<std::size_t>(reading.parameter)];
    if (reading.contributions.size() > kMostContributionsOnPage)
      notes.push_back(fmt::format("Of {} in step {} the first {} of {} contributions are shown.",
                                  parameter.name, reading.step, kMostContributionsOnPage,
                                  reading.contributions.size()));
    list.push_back(
        {{"parameter", parameter.name},
         {"shape", fmt::format("{} {}", fmt::join(parameter.shape, "x"), name_of(parameter.dtype))},
         {"step", reading.step},
         {"frozen", !parameter.trainable},
         {"readers", readers_json(reading, audited.verdict)},
         {"contributions", contributions_json(reading)}});
  }
  return list;
}

/// What of an event stands in a narrow column.
ordered_json event_json(const CollectiveEvent& event) {
  const std::string call =
      fmt::format("{}{}{} {}", event.kind, event.reduction.empty() ? "" : " ", event.reduction, event.dtype);
  return {call, fmt::format("{} \u2192 {}", event.sent, event.received),
          fmt::format("step {}, mb {}, {}", event.step, event.microbatch, event.phase), event.completed};
}

ordered_json group_json(const GroupSchedule& schedule, ordered_json& notes) {
  std::ptrdiff_t longest = 0;
  for (const auto& sequence : schedule.sequences) longest = std::max(longest, std::ssize(sequence));
  std::ptrdiff_t first = 0;
  if (longest > kMostCollectivesOnPage) {
    first = std::clamp(schedule.first_difference - kMostCollectivesOnPage / 2, std::ptrdiff_t{0},
                       longest - kMostCollectivesOnPage);
    notes.push_back(fmt::format("{} of {} collectives of the group {{{}}} are shown, from number {} on.",
                                kMostCollectivesOnPage, longest, fmt::join(schedule.group, ", "), first));
  }
  ordered_json rows = ordered_json::array();
  for (std::ptrdiff_t i = first; i < std::min(longest, first + kMostCollectivesOnPage); ++i) {
    ordered_json row = ordered_json::array();
    for (const auto& sequence : schedule.sequences)
      row.push_back(i < std::ssize(sequence) ? event_json(*sequence[static_cast<std::size_t>(i)])
                                             : ordered_json());
    rows.push_back(std::move(row));
  }
  return {{"group", schedule.group},
          {"ranks", schedule.ranks},
          {"first", first},
          {"difference", schedule.first_difference},
          {"rows", std::move(rows)}};
}

ordered_json ranks_json(const AuditTrace& trace) {
  ordered_json ranks = ordered_json::array();
  for (const RankTrace& rank : trace.ranks)
    ranks.push_back(
        {{"rank", rank.rank},
         {"outcome", name_of(rank.outcome)},
         {"error", rank.error},
         {"waiting", rank.outcome == Outcome::finished ? std::vector<std::string>{} : rank.waiting}});
  return ranks;
}

}  // namespace

std::string audit_page_data(const Audited& audited) {
  const AuditVerdict& verdict = audited.verdict;
  ordered_json notes = ordered_json::array();
  if (verdict.findings.size() > kMostFindingsOnPage)
    notes.push_back(
        fmt::format("{} of {} findings are shown.", kMostFindingsOnPage, verdict.findings.size()));
  ordered_json clauses = ordered_json::array();
  for (const ClauseVerdict& each : verdict.clauses)
    clauses.push_back({each.clause, clause(each.clause).title, name_of(each.word), each.because});
  ordered_json groups = ordered_json::array();
  for (const GroupSchedule& schedule : schedules_of(audited.trace))
    groups.push_back(group_json(schedule, notes));
  ordered_json data = {{"verdict", word_of(verdict)},
                       {"trace", audited.folder},
                       {"subject", subject_of(audited.trace)},
                       {"scenario", describe(audited.trace.audited)},
                       {"refusal", verdict.refusal},
                       {"findings", findings_json(verdict)},
                       {"clauses", std::move(clauses)},
                       {"ranks", ranks_json(audited.trace)},
                       {"gradients", gradients_json(audited, notes)},
                       {"groups", std::move(groups)}};
  data["notes"] = std::move(notes);
  return data.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string audit_page(const Audited& audited) {
  return filled({kAuditTemplate, audit_page_data(audited)});
}

}  // namespace shardcheck
