// Stretches: the cases of a run, cut into numbered pieces that several threads work off. What a run reports
// depends on the pieces alone, not on which thread had which piece when. Next: runner.cpp says what a piece
// is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "properties/runner.h"

namespace shardcheck {

/// What one stretch found.
struct StretchReport {
  std::int64_t cases = 0;  ///< run, the failing one included
  std::vector<std::int64_t> coverage;
  std::optional<Counterexample> failing;
};

/// What a stretch may use while it runs.
struct StretchContext {
  Backend& backend;
  std::function<bool()> is_over;    ///< an interrupt, the end of the time, or a failure in an earlier stretch
  std::function<void()> case_done;  ///< call after each case
};

using Stretch = std::function<StretchReport(std::int64_t number, const StretchContext& context)>;

/// Runs the stretches 0 to count - 1. Returns those up to the first that failed, in order; a failing one is
/// the last. Rethrows what a thread threw, after all have stopped.
std::vector<StretchReport> run_stretches(std::int64_t count, const RunOptions& options,
                                         const Stretch& stretch);

}  // namespace shardcheck
