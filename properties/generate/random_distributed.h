// GTP distributed weights of random scenarios (wgrad 4.1, Q11).
#pragma once

#include "properties/generate/draw.h"
#include "properties/property.h"

namespace shardcheck {

/// Where the owner allows it: some matrices are shared by ranks, row by row.
void draw_distributed(Draw& draw, Focus focus, Scenario& scenario);

/// Rows become a multiple of the ranks that share them.
void match_distributed(Scenario& scenario);

}  // namespace shardcheck
