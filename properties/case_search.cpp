#include "properties/case_search.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

namespace shardcheck {
namespace {

/// Far more than any shrink has needed; each step leaves less to remove.
constexpr std::int64_t kMostTries = 20'000;

std::set<std::string> clauses_of(const std::vector<Finding>& findings) {
  std::set<std::string> clauses;
  for (const Finding& finding : findings) clauses.insert(finding.clause);
  return clauses;
}

bool any_of_clauses(const std::vector<Finding>& findings, const std::set<std::string>& clauses) {
  return std::ranges::any_of(findings, [&](const Finding& f) { return clauses.contains(f.clause); });
}

}  // namespace

StretchReport case_stretch(const Property& property, const RunOptions& options, CaseRange range,
                           const StretchContext& context) {
  StretchReport report;
  report.coverage.resize(property.situations().size());
  for (std::int64_t i = range.first; i < range.last && !context.is_over(); ++i) {
    const std::unique_ptr<Case> c = property.kind->draw({options.seed, static_cast<std::uint64_t>(i)});
    JudgedCase judged = judge(property, context.backend, *c);
    ++report.cases;
    std::ranges::sort(judged.situations);
    const auto [end, last] = std::ranges::unique(judged.situations);
    judged.situations.erase(end, last);
    for (const std::size_t situation : judged.situations) ++report.coverage[situation];
    context.case_done();
    if (judged.findings.empty()) continue;
    report.failing = Counterexample{.kind = property.kind, .json = c->json()};
    break;
  }
  return report;
}

Failure shrunk_case(const Property& property, Backend& backend, const Counterexample& first,
                    const std::function<bool()>& is_over) {
  Failure failure{.first = first, .shrunk = first};
  std::unique_ptr<Case> smallest = property.kind->read(first.json, "case");
  failure.findings = judge(property, backend, *smallest).findings;
  const std::set<std::string> clauses = clauses_of(failure.findings);
  for (bool is_smaller = true; is_smaller;) {
    is_smaller = false;
    for (std::unique_ptr<Case>& candidate : smallest->smaller()) {
      if (is_over() || failure.tries >= kMostTries) break;
      ++failure.tries;
      std::vector<Finding> findings = judge(property, backend, *candidate).findings;
      if (!any_of_clauses(findings, clauses)) continue;
      failure.findings = std::move(findings);
      smallest = std::move(candidate);
      is_smaller = true;
      break;
    }
  }
  failure.shrunk.json = smallest->json();
  return failure;
}

}  // namespace shardcheck
