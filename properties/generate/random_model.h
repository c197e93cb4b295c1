// The parameters and uses of a random scenario: small and uneven shapes, tied and repeated weights, biases,
// experts, frozen and unused parameters. Next: random_scenario.h draws the rest.
#pragma once

#include "properties/generate/draw.h"
#include "properties/property.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// Fills scenario.parameters and scenario.uses; the mesh is drawn already.
void draw_model(Draw& draw, Focus focus, Scenario& scenario);

}  // namespace shardcheck
