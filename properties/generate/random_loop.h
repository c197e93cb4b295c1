// random_loop: recomputation, steps given up, processes resumed and parameters that thaw, for a scenario that
// is otherwise drawn. Last of all draws, so that the rest does not depend on it.
#pragma once

#include "properties/generate/draw.h"
#include "properties/property.h"

namespace shardcheck {

/// Adds events with which the scenario is as sound as without (soundness.h).
void draw_loop(Draw& draw, Focus focus, Scenario& scenario);

}  // namespace shardcheck
