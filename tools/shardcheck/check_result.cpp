#include "tools/shardcheck/check_result.h"

#include <algorithm>

namespace shardcheck {
namespace {

template <class Results>
bool any(const Results& results, Verdict verdict) {
  return std::ranges::any_of(results,
                             [&](const PropertyResult& each) { return verdict_of(each) == verdict; });
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  constexpr std::string_view names[] = {"held", "broken", "gave_up"};
  return names[static_cast<int>(verdict)];
}

std::int64_t cases_of(const CheckResult& result) {
  std::int64_t cases = static_cast<std::int64_t>(result.kept.size());
  for (const PropertyResult& each : result.properties) cases += each.report.cases;
  return cases;
}

Verdict verdict_of(const PropertyResult& result) {
  if (result.report.failure) return Verdict::broken;
  return result.report.interrupted || !result.report.missing.empty() ? Verdict::gave_up : Verdict::held;
}

Verdict verdict_of(const CheckResult& result) {
  const bool kept_fails =
      std::ranges::any_of(result.kept, [](const KeptResult& kept) { return !kept.findings.empty(); });
  if (kept_fails || any(result.properties, Verdict::broken)) return Verdict::broken;
  return result.is_interrupted || any(result.properties, Verdict::gave_up) ? Verdict::gave_up : Verdict::held;
}

ExitStatus exit_of(const CheckResult& result) {
  const Verdict verdict = verdict_of(result);
  if (verdict == Verdict::broken) return ExitStatus::broken;
  if (result.is_interrupted) return ExitStatus::interrupted;
  return verdict == Verdict::held ? ExitStatus::held : ExitStatus::gave_up;
}

}  // namespace shardcheck
