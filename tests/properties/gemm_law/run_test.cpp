// Many cases on the reference. The GPU's turn is hardware_test.cpp.
#include "properties/gemm_law/run.h"

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"

namespace shardcheck {
namespace {

TEST(GemmLawRun, ReportCountsWhatItSaw) {
  const auto cpu = make_cpu_backend(kHopper);
  const GemmLawReport report = run_gemm_law(*cpu, {.seed = 3, .cases = 12});
  EXPECT_EQ(report.cases, 12);
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
  std::int64_t cases = 0, outputs = 0;
  for (const auto& [name, row] : report.rows) {
    cases += row.cases;
    outputs += row.outputs;
  }
  EXPECT_EQ(cases, 12);
  EXPECT_EQ(outputs, report.outputs);
}

TEST(GemmLawRun, ABrokenRowIsNamed) {
  ArithmeticProfile other = kHopper;
  other.fp8_fast.alignment_bits = 12;
  const auto cpu = make_cpu_backend(other);
  const GemmLawReport report = run_gemm_law(*cpu, {.seed = 1, .cases = 40}, kHopper);
  EXPECT_FALSE(report.findings.empty());
  for (const auto& [name, row] : report.rows) {
    if (row.broken > 0) {
      EXPECT_NE(name.find("FP8, fast"), std::string::npos) << name;
    }
  }
}

}  // namespace
}  // namespace shardcheck
