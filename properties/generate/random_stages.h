// What a random scenario has of a pipeline: stages, a weight tied across two of them, tensor-parallel ranks
// with copies of norms, and producers whose gradients come after their backward.
#pragma once

#include "properties/generate/draw.h"
#include "properties/property.h"

namespace shardcheck {

/// Spreads the parameters over stages, and lets some uses defer or assign their gradient.
void draw_stages(Draw& draw, Focus focus, Scenario& scenario);

/// Gives the copies of a weight the shape and the thawing of the first one, whatever was drawn since.
void match_copies(Scenario& scenario);

}  // namespace shardcheck
