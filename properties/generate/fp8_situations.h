// The situations of weights in FP8: which recipe, who gathers codes when, and what a training loop does with
// them. Next: situations.h, which has the others.
#pragma once

#include <vector>

#include "properties/generate/situations.h"

namespace shardcheck {

std::vector<Situation> fp8_situations();

}  // namespace shardcheck
