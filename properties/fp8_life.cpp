#include "properties/fp8_life.h"

#include "core/contract/monitor.h"
#include "sim/faults/zoo.h"
#include "sim/planner/planner.h"

namespace shardcheck {

std::vector<Finding> fp8_life(Backend&, const Scenario& scenario) {
  if (!scenario.fp8) return {};
  Planned planned = plan_of(scenario);
  apply_fault(planned, scenario);
  return judge(planned.plan);
}

}  // namespace shardcheck
