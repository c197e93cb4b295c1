// The planner: the training loop of a scenario, written out as a plan. Host decisions are taken here, once,
// with the state that the real frameworks keep; what remains is data.
#pragma once

#include "sim/planner/lapse.h"
#include "sim/planner/planned.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// The plan of a valid scenario (sim/scenario/validate.h), without its fault: sim/faults/zoo.h rewrites it.
Planned plan_of(const Scenario& scenario);

/// The plan of a job that does one thing wrong.
Planned plan_of(const Scenario& scenario, Lapse lapse);

}  // namespace shardcheck
