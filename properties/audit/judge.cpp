#include "properties/audit/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "properties/audit/agreement.h"
#include "properties/audit/probing.h"
#include "properties/audit/refusals.h"
#include "properties/audit/schedule.h"
#include "properties/audit/values.h"

namespace shardcheck {
namespace {

/// What a case has, as far as clauses ask for it.
struct Exercised {
  explicit Exercised(const AuditTrace& trace) {
    const Scenario& s = trace.audited.scenario;
    for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
      const auto uses = std::ranges::count(s.uses, p, &ScenarioUse::parameter);
      frozen |= !s.parameters[static_cast<std::size_t>(p)].trainable;
      repeated |= uses > 1;
      for (std::int32_t step = 0; step < s.steps && uses > 0; ++step) {
        silent_step |= is_silent_step(s, p, step);
        silent_microbatch |= has_silent_microbatch(s, p, step);
      }
    }
    for (std::int32_t rank = 0; rank < s.ranks; ++rank) {
      for (std::int32_t m = 0; m < s.microbatches; ++m) empty |= tokens_of(s, rank, m) == 0;
    }
    several_steps = s.steps > 1;
    several_microbatches = s.microbatches > 1;
    several_ranks = s.ranks > 1;
    outer_axis = trace.audited.adapter.replicas > 1;
  }
  bool frozen = false, repeated = false, silent_step = false, silent_microbatch = false, empty = false;
  bool several_steps = false, several_microbatches = false, several_ranks = false, outer_axis = false;
};

/// What of the trace a clause is judged on.
enum class Seen : std::uint8_t { values, updates, agreement, schedule };

struct Row {
  std::string_view clause;
  Seen seen;
  bool (*exercised)(const Exercised&);
  std::string_view needs;  ///< what a case must have that shows it
};

constexpr auto always = [](const Exercised&) { return true; };

// A black box shows effects: a clause about writes or buffers holds when every digit that a breach would
// change is right. What it never shows (flags, placeholders, streams) is not in this table.
constexpr Row kRows[] = {
    {"W1", Seen::values, always, ""},
    {"W2", Seen::values, always, ""},
    {"W3", Seen::values, always, ""},
    {"W4", Seen::values, [](const Exercised& e) { return e.repeated || e.several_microbatches; },
     "a second write: two microbatches, or a weight used twice"},
    {"W5", Seen::values, [](const Exercised& e) { return e.repeated || e.silent_microbatch; },
     "a weight used twice or silent in a microbatch"},
    {"W6", Seen::values, [](const Exercised& e) { return e.several_steps; }, "two steps"},
    {"W7", Seen::values, [](const Exercised& e) { return e.silent_microbatch; }, "a silent microbatch"},
    {"W8", Seen::values, [](const Exercised& e) { return e.silent_step; }, "a silent step"},
    {"W9", Seen::values, [](const Exercised& e) { return e.empty; }, "a microbatch without tokens"},
    {"W10", Seen::values, [](const Exercised& e) { return e.frozen; }, "a frozen parameter"},
    {"W21", Seen::schedule, [](const Exercised& e) { return e.several_ranks; }, "two ranks"},
    {"W24", Seen::values, always, ""},
    {"W25", Seen::values, [](const Exercised& e) { return e.several_microbatches; }, "two microbatches"},
    {"W26", Seen::values, [](const Exercised& e) { return e.several_microbatches; }, "two microbatches"},
    {"W27", Seen::values, [](const Exercised& e) { return e.several_ranks; }, "two ranks"},
    {"W28", Seen::agreement, [](const Exercised& e) { return e.several_ranks; }, "two ranks"},
    {"W29", Seen::values, [](const Exercised& e) { return e.outer_axis; }, "an outer axis (HSDP)"},
    {"W30", Seen::schedule, [](const Exercised& e) { return e.several_ranks; }, "two ranks"},
    {"W31", Seen::values, [](const Exercised& e) { return e.several_microbatches; }, "two microbatches"},
    {"W32", Seen::updates, always, ""},
    {"W39", Seen::agreement, [](const Exercised& e) { return e.several_ranks; }, "two ranks"},
};

class Verdicts {
 public:
  Verdicts(const AuditTrace& trace, const AuditVerdict& verdict) : exercised_(trace), verdict_(verdict) {
    const auto is_numeric = [](const AuditFinding& f) { return f.finding.parameter >= 0; };
    values_wrong_ = std::ranges::any_of(verdict.findings, is_numeric);
    unfinished_ = std::ranges::any_of(
        trace.ranks, [](const RankTrace& rank) { return rank.outcome != Outcome::finished; });
  }

  ClauseVerdict of(const Row& row) const {
    const auto times =
        std::ranges::count(verdict_.findings, row.clause,
                           [](const AuditFinding& f) -> std::string_view { return f.finding.clause; });
    if (times > 0)
      return {row.clause, ClauseWord::broken, fmt::format("{} finding{}", times, times == 1 ? "" : "s")};
    if (!row.exercised(exercised_))
      return {row.clause, ClauseWord::not_seen, fmt::format("the case lacks {}", row.needs)};
    const std::int64_t judged = judged_by(row.seen);
    if (judged == 0) return {row.clause, ClauseWord::not_seen, "nothing of it is in the trace"};
    if (unfinished_ && row.clause == "W21") return {row.clause, ClauseWord::open, "the run did not finish"};
    if (values_wrong_ && row.seen != Seen::schedule)
      return {row.clause, ClauseWord::open, "values are wrong; from outside it cannot be told apart"};
    return {row.clause, ClauseWord::held, fmt::format("{} {}", judged, noun_of(row.seen))};
  }

 private:
  std::int64_t judged_by(Seen seen) const {
    if (seen == Seen::schedule) return verdict_.collectives;
    return seen == Seen::updates ? verdict_.parameters : verdict_.gradients;
  }
  static std::string_view noun_of(Seen seen) {
    if (seen == Seen::schedule) return "collectives";
    return seen == Seen::updates ? "updated parameters" : "gradients";
  }

  Exercised exercised_;
  const AuditVerdict& verdict_;
  bool values_wrong_ = false, unfinished_ = false;
};

void count(const AuditTrace& trace, AuditVerdict& verdict) {
  for (const RankTrace& rank : trace.ranks) {
    for (const TracedTensor& tensor : rank.tensors) {
      std::int64_t& counter = tensor.what == Traced::gradient    ? verdict.gradients
                              : tensor.what == Traced::parameter ? verdict.parameters
                                                                 : verdict.probes;
      ++counter;
    }
  }
  verdict.collectives = collectives_of(trace);
}

}  // namespace

std::string_view name_of(ClauseWord word) {
  constexpr std::string_view names[] = {"held", "BROKEN", "open", "not seen"};
  return names[static_cast<int>(word)];
}

AuditVerdict judge(const AuditTrace& trace) {
  AuditVerdict verdict;
  count(trace, verdict);
  const ValueJudge values(trace);
  const auto add = [&](std::vector<WrongGradient> wrong) {
    for (WrongGradient& each : wrong)
      verdict.findings.push_back({std::move(each.finding), std::move(each.signatures)});
  };
  const auto add_plain = [&](std::vector<Finding> findings) {
    for (Finding& each : findings) verdict.findings.push_back({std::move(each), {}});
  };
  add_plain(judge_schedule(trace));
  add(values.gradients());
  add_plain(judge_agreement(trace));
  add_plain(values.parameters());
  add(judge_probes(trace, values));
  const auto raised = std::ranges::find(trace.ranks, Outcome::raised, &RankTrace::outcome);
  if (verdict.findings.empty() && raised != trace.ranks.end()) {
    verdict.refusal = fmt::format("rank {}: {}", raised->rank, raised->error);
    const std::string_view meaning = meaning_of(trace.audited, raised->error);
    if (!meaning.empty()) verdict.refusal += fmt::format("; that is known: {}", meaning);
  }
  const Verdicts table(trace, verdict);
  for (const Row& row : kRows) verdict.clauses.push_back(table.of(row));
  return verdict;
}

}  // namespace shardcheck
