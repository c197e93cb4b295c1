// Many cases of the law F66 on one backend, and a table of what they covered.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "properties/gemm_law/gemm_law.h"

namespace shardcheck {

/// Case i is random_gemm_case of the stream i of `seed`.
struct GemmLawRun {
  std::uint64_t seed = 1;
  std::int64_t cases = 100;
};

struct GemmLawReport {
  struct Row {
    std::int64_t cases = 0, outputs = 0, broken = 0;
  };
  std::map<std::string, Row> rows;  ///< by model_row
  std::vector<Finding> findings;    ///< one a broken case
  std::int64_t cases = 0, outputs = 0;
};

GemmLawReport run_gemm_law(Backend& candidate, const GemmLawRun& run);
/// The same with a profile of the caller's choice.
GemmLawReport run_gemm_law(Backend& candidate, const GemmLawRun& run, const ArithmeticProfile& profile);

/// A line for each row of the model, then the findings.
std::string to_text(const GemmLawReport& report);

}  // namespace shardcheck
