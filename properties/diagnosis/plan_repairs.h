// Plan repairs: the smallest changes of a plan after which the judge of FP8 weights is content: an op left
// out, moved, repeated, or made to wait. They say what a finding of a life cycle depends on, op by op;
// nothing runs.
#pragma once

#include <string>
#include <vector>

#include "core/contract/finding.h"

namespace shardcheck {

/// At most three after which the whole plan holds: "with op 57 after op 61 (quantise ...) the plan holds";
/// where there is none, those after which it holds longer. Empty where no single change helps, or the plan is
/// too long to try.
std::vector<std::string> plan_repairs(const Plan& plan, const Finding& finding);

}  // namespace shardcheck
