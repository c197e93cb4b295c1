// Searching among cases that are no training steps: a stretch of them, and the shrinking of one that fails.
// Next: runner.cpp, which runs the stretches.
#pragma once

#include <functional>

#include "properties/runner.h"
#include "properties/stretches.h"

namespace shardcheck {

/// Half-open.
struct CaseRange {
  std::int64_t first = 0, last = 0;
};

/// The cases of that range in the stream of options.seed, until the first that fails.
StretchReport case_stretch(const Property& property, const RunOptions& options, CaseRange range,
                           const StretchContext& context);

/// Follows Case::smaller for as long as a finding of one of the first case's clauses remains.
Failure shrunk_case(const Property& property, Backend& backend, const Counterexample& first,
                    const std::function<bool()>& is_over);

}  // namespace shardcheck
