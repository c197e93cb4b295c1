// Soundness: for which scenarios a protocol is right by the specification (wgrad 3.1, 3.4, 4.2 to 4.4). The
// reference designs R5 to R8 always are; today's flags, getters and hooks, and R1 to R4 on top of them, are
// right for some uses and owners only. The generator draws sound scenarios, so every finding is a bug.
#pragma once

#include "sim/scenario/scenario.h"

namespace shardcheck {

/// True when the scenario, its fault aside, must show no finding. Some true cases are refused: without
/// zeroing, a persistent owner is sound under R5, R7 and R8 when every parameter is used in every step; a
/// driver under graph capture is sound when microbatch 0 is silent on all ranks.
bool is_sound(const Scenario& scenario);

}  // namespace shardcheck
