// The FP8 life of the matrices of a random scenario: recipe, masters, what happens between steps, and shapes
// that the recipe takes. Next: random_scenario.h draws the rest.
#pragma once

#include "properties/generate/draw.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// Draws scenario.fp8; owner, schedule and model are drawn already. Shapes change to multiples of the
/// recipe's.
void draw_fp8(Draw& draw, Scenario& scenario);

/// Raises the sides of FP8 weights to multiples of the recipe's; without an FP8 section, nothing.
void round_up_shapes(Scenario& scenario);

}  // namespace shardcheck
