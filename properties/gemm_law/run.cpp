#include "properties/gemm_law/run.h"

#include <fmt/format.h>

#include "core/numerics/profile.h"

namespace shardcheck {
namespace {

template <class Judge>
GemmLawReport run_cases(const GemmLawRun& run, const ArithmeticProfile& profile, Judge judge) {
  GemmLawReport report;
  for (std::int64_t i = 0; i < run.cases; ++i) {
    Draw draw(run.seed, static_cast<std::uint64_t>(i));
    const GemmCase c = random_gemm_case(draw);
    const std::vector<Finding> findings = judge(c);
    GemmLawReport::Row& row = report.rows[model_row(profile, c)];
    const std::int64_t outputs = c.op.m * c.op.n;
    ++row.cases;
    row.outputs += outputs;
    row.broken += findings.empty() ? 0 : 1;
    ++report.cases;
    report.outputs += outputs;
    report.findings.insert(report.findings.end(), findings.begin(), findings.end());
  }
  return report;
}

}  // namespace

GemmLawReport run_gemm_law(Backend& candidate, const GemmLawRun& run) {
  const ArithmeticProfile* named = profile_named(candidate.info().profile);
  return run_cases(run, named == nullptr ? kIdeal : *named,
                   [&](const GemmCase& c) { return gemm_equals_profile(candidate, c); });
}

GemmLawReport run_gemm_law(Backend& candidate, const GemmLawRun& run, const ArithmeticProfile& profile) {
  return run_cases(run, profile,
                   [&](const GemmCase& c) { return gemm_equals_profile(candidate, c, profile); });
}

std::string to_text(const GemmLawReport& report) {
  std::string text = fmt::format("{:>6} {:>9} {:>6}  {}\n", "cases", "outputs", "broken", "row of the model");
  for (const auto& [name, row] : report.rows) {
    text += fmt::format("{:>6} {:>9} {:>6}  {}\n", row.cases, row.outputs, row.broken, name);
  }
  text += fmt::format("{:>6} {:>9} {:>6}  all\n", report.cases, report.outputs, report.findings.size());
  for (const Finding& finding : report.findings)
    text += fmt::format("{}: {}\n", finding.clause, finding.sentence);
  return text;
}

}  // namespace shardcheck
