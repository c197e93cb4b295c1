#include "tools/shardcheck/audit/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "core/files.h"
#include "properties/audit/case_shrinks.h"
#include "tools/shardcheck/interrupt.h"
#include "tools/shardcheck/progress.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostCandidates = 24;  // of one launch

/// What makes two failures the same: the clauses that are broken, and whether the run came to an end.
using Kind = std::pair<std::set<std::string>, bool>;

Kind kind_of(const Audited& audited) {
  Kind kind;
  for (const AuditFinding& each : audited.verdict.findings) kind.first.insert(each.finding.clause);
  kind.second = std::ranges::all_of(audited.trace.ranks,
                                    [](const RankTrace& rank) { return rank.outcome == Outcome::finished; });
  return kind;
}

class Runner {
 public:
  Runner(const AuditSearch& search, Session& session)
      : search_(search),
        begin_(Clock::now()),
        end_(begin_ + std::chrono::minutes(search.minutes)),
        progress_(session.err) {}

  AuditRun run() {
    std::vector<AuditCase> cases;
    for (std::int64_t i = 0; i < search_.tries; ++i) {
      Draw draw(search_.seed, static_cast<std::uint64_t>(i));
      cases.push_back(random_audit_case(draw, search_.room));
    }
    AuditRun run{.all = judged(cases, search_.out / "cases", "cases")};
    shrink(run);
    run.was_cut = was_cut_;
    run.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    progress_.clear();
    return run;
  }

 private:
  bool is_over() const { return Clock::now() > end_ || interrupt_flag(); }

  /// The verdicts of the traces that the launch left, in the order of the cases.
  std::vector<Audited> judged(const std::vector<AuditCase>& cases, const fs::path& folder,
                              const std::string& label) {
    const auto show = [&](std::size_t done) {
      progress_.show({label, static_cast<double>(done) / static_cast<double>(cases.size()),
                      fmt::format("{} of {} on the framework", done, counted(std::ssize(cases), "case"))});
    };
    const Launched launched = launch(search_.setup, {cases, folder, end_, show});
    was_cut_ |= launched.was_cut;
    std::vector<Audited> all;
    for (const fs::path& each : launched.folders) {
      if (launched.was_cut && !is_whole(each)) continue;
      AuditTrace trace = read_trace(each);
      AuditVerdict verdict = judge(trace);
      all.push_back({each.string(), std::move(trace), std::move(verdict)});
    }
    return all;
  }

  bool is_whole(const fs::path& folder) const {
    bool whole = fs::exists(folder / "manifest.json");
    for (std::int32_t rank = 0; rank < search_.room.ranks; ++rank)
      whole &= fs::exists(folder / fmt::format("rank-{}.json", rank));
    return whole;
  }

  void shrink(AuditRun& run) {
    std::map<Kind, std::vector<const Audited*>> kinds;
    for (const Audited& each : run.all) {
      if (each.verdict.is_broken()) kinds[kind_of(each)].push_back(&each);
    }
    std::vector<std::pair<Kind, std::vector<const Audited*>>> ordered(kinds.begin(), kinds.end());
    std::ranges::sort(ordered, std::greater(), [](const auto& kind) { return kind.second.size(); });
    for (const auto& [kind, members] : ordered) {
      if (std::ssize(run.failures) == search_.kinds || is_over()) return;
      AuditFailure failure{
          .first = *members.front(), .smallest = *members.front(), .seen = std::ssize(members)};
      const std::string name = fmt::format("failure-{}", run.failures.size() + 1);
      shrink(failure, kind, name);
      leave(failure, name);
      run.failures.push_back(std::move(failure));
    }
  }

  /// One launch runs all simpler cases; the first that fails in the same way is the next to be shrunk.
  void shrink(AuditFailure& failure, const Kind& kind, const std::string& name) {
    for (int round = 0; !is_over(); ++round) {
      std::vector<AuditCase> candidates = shrinks(failure.smallest.trace.audited);
      std::erase_if(candidates,
                    [&](const AuditCase& c) { return std::ranges::find(tried_, c) != tried_.end(); });
      if (candidates.size() > kMostCandidates) candidates.resize(kMostCandidates);
      if (candidates.empty()) return;
      tried_.insert(tried_.end(), candidates.begin(), candidates.end());
      const auto label = fmt::format("shrinking {}", name);
      auto all = judged(candidates, search_.out / fmt::format("{}-round-{}", name, round), label);
      failure.launched += std::ssize(all);
      const auto simpler =
          std::ranges::find_if(all, [&](const Audited& each) { return kind_of(each) == kind; });
      if (simpler != all.end()) failure.smallest = std::move(*simpler);
    }
  }

  void leave(AuditFailure& failure, const std::string& name) {
    failure.case_file = search_.out / (name + ".json");
    failure.script = search_.out / (name + ".py");
    write_text_atomically(failure.case_file, to_json(failure.smallest.trace.audited));
    const Finding& finding = failure.smallest.verdict.findings.front().finding;
    write_script(search_.setup, failure.case_file, failure.script,
                 fmt::format("{}\n{}", subject_of(failure.smallest.trace), headline(finding)),
                 failure.smallest.trace.device);
    progress_.show({"confirming", 0.5, failure.script.string()});
    failure.confirmation = confirm(search_.setup, failure.script, search_.room.ranks);
  }

  const AuditSearch& search_;
  Clock::time_point begin_, end_;
  Progress progress_;
  std::vector<AuditCase> tried_;
  bool was_cut_ = false;
};

/// "100 held", "12 BROKEN (W30)".
std::string counts_of(const AuditRun& run) {
  std::map<std::string, std::int64_t> words;
  for (const Audited& each : run.all) ++words[std::string(word_of(each.verdict))];
  std::vector<std::string> parts;
  for (const auto& [word, count] : words) parts.push_back(fmt::format("{} {}", count, word));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string_view word_of(const Confirmation& confirmation) {
  if (confirmation.shows) return "it fails without shardcheck, too";
  return confirmation.was_cut ? "it was cut short before it showed anything; run it by hand"
                              : "it does NOT fail by itself";
}

std::string failure_text(const Terminal& terminal, const AuditFailure& failure) {
  constexpr std::size_t kMostLines = 6;
  std::string text = audit_text(terminal, failure.smallest);
  text += labelled(terminal, "found",
                   fmt::format("in {}; shrunk from {} by {}", counted(failure.seen, "case"),
                               failure.first.folder, counted(failure.launched, "launched case")));
  text += labelled(terminal, "script",
                   fmt::format("{}: {}", failure.script.string(), word_of(failure.confirmation)));
  for (std::size_t i = 0; i < std::min(kMostLines, failure.confirmation.lines.size()); ++i)
    text += labelled(terminal, "", failure.confirmation.lines[i]);
  text += labelled_command(
      terminal, "reproduce",
      fmt::format("torchrun --standalone --nproc-per-node {} {}",
                  failure.smallest.trace.audited.scenario.ranks, shell_quoted(failure.script.string())));
  return text + "\n";
}

}  // namespace

AuditRun run_audit(const AuditSearch& search, Session& session) {
  return Runner(search, session).run();
}

std::string run_text(const Terminal& terminal, const AuditSearch& search, const AuditRun& run) {
  std::string text;
  for (const AuditFailure& failure : run.failures) text += failure_text(terminal, failure);
  Table table({">cases", "verdict", "clauses", "ended"});
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> rows;
  for (const Audited& each : run.all) {
    const Kind kind = kind_of(each);
    ++rows[{std::string(word_of(each.verdict)), fmt::format("{}", fmt::join(kind.first, " ")),
            kind.second ? "all ranks finished" : "hung, raised or aborted"}];
  }
  for (const auto& [row, count] : rows)
    table.row({grouped(count), std::get<0>(row), std::get<1>(row), std::get<2>(row)});
  text += table.text(terminal);
  const bool broken =
      std::ranges::any_of(run.all, [](const Audited& each) { return each.verdict.is_broken(); });
  return text +
         fmt::format("{}: {} of {} through {} in {}, seed {}: {}{}; traces in {}\n",
                     broken ? paint(terminal, Tone::bad, "BROKEN") : paint(terminal, Tone::good, "held"),
                     run.all.size(), counted(search.tries, "case"),
                     run.all.empty() ? search.room.adapter : subject_of(run.all.front().trace),
                     seconds_text(run.seconds), search.seed, counts_of(run), run.was_cut ? "; cut short" : "",
                     search.out.string());
}

}  // namespace shardcheck
