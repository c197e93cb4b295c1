// Random scenarios: small, quick, weighted toward the corners where the contract breaks. Every one is valid,
// and correct by the contract, so that a finding on it is a bug. Next: soundness.h says what is correct,
// situations.h counts which corners were reached.
#pragma once

#include "properties/generate/draw.h"
#include "properties/property.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// A valid scenario that is_sound. The focus leans the weights toward its situation.
Scenario random_scenario(Draw& draw, Focus focus);

/// The same without regard to soundness: its protocol may be wrong for its uses and owner.
Scenario random_unsound_scenario(Draw& draw, Focus focus);

}  // namespace shardcheck
