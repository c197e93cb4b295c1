// The laws of scales and of their storage, F17 to F22, F24, F27, F29 and F35 to F39 (fp8 5.1 to 5.3), over
// one case. What a matrix keeps beside them is judged by properties/recipe_law. Next: zoo.h.
#pragma once

#include <vector>

#include "core/contract/finding.h"
#include "properties/scale_law/scale_case.h"
#include "properties/scale_law/scale_machine.h"

namespace shardcheck {

/// Every broken law, each once, with the first place that shows it.
std::vector<Finding> judge_scales(const ScaleCase& c, const ScaleMachine& machine);

}  // namespace shardcheck
