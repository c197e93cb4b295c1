#include "tools/shardcheck/audit/audit_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/contract/clauses.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostInFull = 3;  // findings that are printed with their evidence

Tone tone_of(ClauseWord word) {
  constexpr Tone tones[] = {Tone::good, Tone::bad, Tone::warning, Tone::faint};
  return tones[static_cast<int>(word)];
}

Tone tone_of(const AuditVerdict& verdict) {
  if (verdict.is_broken()) return Tone::bad;
  return verdict.refusal.empty() ? Tone::good : Tone::warning;
}

std::string findings_of(const Terminal& terminal, const AuditVerdict& verdict) {
  std::string text;
  const auto ordered = telling_first(verdict);
  std::vector<Finding> others;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    if (i >= kMostInFull) {
      others.push_back(ordered[i].finding);
      continue;
    }
    text += finding_text(terminal, ordered[i].finding);
    for (const std::string& signature : ordered[i].signatures)
      text += labelled(terminal, "looks like", signature);
    text += "\n";
  }
  return text + also_text(terminal, others);
}

std::string clauses_of(const Terminal& terminal, const AuditVerdict& verdict) {
  Table table({"clause", "verdict", "title", "on"});
  for (const ClauseVerdict& each : verdict.clauses)
    table.row({each.clause,
               {std::string(name_of(each.word)), tone_of(each.word)},
               clause(each.clause).title,
               each.because});
  return table.text(terminal);
}

std::string endings_of(const Terminal& terminal, const AuditTrace& trace) {
  std::string text;
  for (const RankTrace& rank : trace.ranks) {
    if (rank.outcome == Outcome::finished) continue;
    std::string how(name_of(rank.outcome));
    if (!rank.error.empty()) how += ": " + rank.error;
    if (!rank.waiting.empty()) how += "; it was in " + rank.waiting.back();
    text += labelled(terminal, fmt::format("rank {}", rank.rank), how);
  }
  return text;
}

std::string counts_of(const AuditVerdict& verdict) {
  const auto with = [&](ClauseWord word) {
    return std::ranges::count(verdict.clauses, word, &ClauseVerdict::word);
  };
  std::string text =
      fmt::format("{} of {} held", with(ClauseWord::held), counted(std::ssize(verdict.clauses), "clause"));
  if (verdict.is_broken())
    text = fmt::format("{}; {} broken, {}", counted(std::ssize(verdict.findings), "finding"),
                       counted(with(ClauseWord::broken), "clause"), text);
  return fmt::format("{}; {}, {}, {}{}", text, counted(verdict.gradients, "gradient"),
                     counted(verdict.parameters, "updated parameter"),
                     counted(verdict.collectives, "collective"),
                     verdict.probes > 0 ? ", " + counted(verdict.probes, "probed gradient") : "");
}

ordered_json json_of(const Audited& audited) {
  const AuditVerdict& verdict = audited.verdict;
  ordered_json json = {{"trace", audited.folder},
                       {"verdict", word_of(verdict)},
                       {"exit_status", static_cast<int>(exit_of(verdict))},
                       {"case", ordered_json::parse(to_json(audited.trace.audited))},
                       {"device", audited.trace.device},
                       {"versions", audited.trace.versions},
                       {"refusal", verdict.refusal},
                       {"ranks", ordered_json::array()},
                       {"clauses", ordered_json::array()},
                       {"findings", ordered_json::array()}};
  for (const RankTrace& rank : audited.trace.ranks)
    json["ranks"].push_back({{"rank", rank.rank},
                             {"outcome", name_of(rank.outcome)},
                             {"error", rank.error},
                             {"collectives", rank.collectives.size()}});
  for (const ClauseVerdict& each : verdict.clauses)
    json["clauses"].push_back(
        {{"clause", each.clause}, {"verdict", name_of(each.word)}, {"because", each.because}});
  for (const AuditFinding& each : verdict.findings) {
    ordered_json finding = ordered_json::parse(to_json(each.finding));
    finding["signatures"] = each.signatures;
    json["findings"].push_back(std::move(finding));
  }
  return json;
}

}  // namespace

std::vector<AuditFinding> telling_first(const AuditVerdict& verdict) {
  std::vector<AuditFinding> first, rest;
  std::set<std::pair<std::string, std::int32_t>> seen;
  for (const AuditFinding& each : verdict.findings) {
    const bool is_new = seen.emplace(each.finding.clause, each.finding.parameter).second;
    (is_new ? first : rest).push_back(each);
  }
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

std::string_view word_of(const AuditVerdict& verdict) {
  if (verdict.is_broken()) return "BROKEN";
  return verdict.refusal.empty() ? "held" : "refused";
}

ExitStatus exit_of(const AuditVerdict& verdict) {
  if (verdict.is_broken()) return ExitStatus::broken;
  return verdict.refusal.empty() ? ExitStatus::held : ExitStatus::gave_up;
}

std::string subject_of(const AuditTrace& trace) {
  std::vector<std::string> versions = {trace.device};
  for (const auto& [name, version] : trace.versions) {
    if (name != "python")
      versions.push_back(name == "adapter" ? version : fmt::format("{} {}", name, version));
  }
  return fmt::format("{} on {} ({})", describe(trace.audited.adapter),
                     counted(trace.audited.scenario.ranks, "rank"), fmt::join(versions, "; "));
}

std::string audit_text(const Terminal& terminal, const Audited& audited) {
  const AuditVerdict& verdict = audited.verdict;
  std::string text = findings_of(terminal, verdict) + clauses_of(terminal, verdict) + "\n";
  text += labelled(terminal, "framework", subject_of(audited.trace));
  text += labelled(terminal, "scenario", describe(audited.trace.audited));
  text += endings_of(terminal, audited.trace);
  if (!verdict.refusal.empty()) text += labelled(terminal, "refusal", verdict.refusal);
  return text + fmt::format("{}: {}; {}\n", paint(terminal, tone_of(verdict), word_of(verdict)),
                            audited.folder, counts_of(verdict));
}

std::string audits_table(const Terminal& terminal, const std::vector<Audited>& all) {
  Table table({"trace", "verdict", "clauses", "adapter", "what"});
  for (const Audited& each : all) {
    std::vector<std::string> clauses;
    for (const AuditFinding& finding : each.verdict.findings) {
      if (std::ranges::find(clauses, finding.finding.clause) == clauses.end())
        clauses.push_back(finding.finding.clause);
    }
    const std::string what =
        each.verdict.is_broken() ? each.verdict.findings.front().finding.sentence : each.verdict.refusal;
    table.row({each.folder,
               {std::string(word_of(each.verdict)), tone_of(each.verdict)},
               fmt::format("{}", fmt::join(clauses, " ")),
               describe(each.trace.audited.adapter),
               what});
  }
  return table.text(terminal);
}

std::string audits_json(const std::vector<Audited>& all) {
  const auto broken = std::ranges::find_if(all, [](const Audited& a) { return a.verdict.is_broken(); });
  const auto refused = std::ranges::find_if(all, [](const Audited& a) { return !a.verdict.refusal.empty(); });
  const Audited& worst = broken != all.end() ? *broken : refused != all.end() ? *refused : all.front();
  ordered_json json = {{"command", "audit"},
                       {"verdict", word_of(worst.verdict)},
                       {"exit_status", static_cast<int>(exit_of(worst.verdict))},
                       {"traces", ordered_json::array()}};
  for (const Audited& each : all) json["traces"].push_back(json_of(each));
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace shardcheck
