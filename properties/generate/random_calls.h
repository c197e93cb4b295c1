// What a random scenario has of experts: grouped calls over several parameters, several experts in one
// parameter, and tokens routed unevenly, often to nobody (wgrad 4.1, Q9 and Q10).
#pragma once

#include "properties/generate/draw.h"
#include "properties/property.h"

namespace shardcheck {

/// Makes a weight the first of several experts of one call, or lets it hold several; routes tokens to them.
void draw_experts(Draw& draw, Focus focus, Scenario& scenario);

/// Gives the members of a call the shape, the thawing and the silences of the one that is listed first among
/// the parameters, whatever was drawn since.
void match_experts(Scenario& scenario);

}  // namespace shardcheck
