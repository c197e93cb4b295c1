#include "sim/faults/zoo.h"

#include <algorithm>

#include "sim/faults/kinds.h"

namespace shardcheck {

const std::vector<Fault>& zoo() {
  static const std::vector<Fault> all = [] {
    std::vector<Fault> faults;
    add_beta_faults(faults);
    add_distributed_faults(faults);
    add_finalize_faults(faults);
    add_grouped_faults(faults);
    add_hook_faults(faults);
    add_lease_faults(faults);
    add_order_faults(faults);
    add_outer_faults(faults);
    add_phase_faults(faults);
    add_producer_faults(faults);
    add_readiness_faults(faults);
    add_reduction_faults(faults);
    add_rounding_faults(faults);
    add_scale_faults(faults);
    add_loop_faults(faults);
    add_deepspeed_faults(faults);
    add_weight_faults(faults);
    add_weight_use_faults(faults);
    add_delayed_scale_faults(faults);
    add_symmetry_faults(faults);
    add_edge_faults(faults);
    add_graph_faults(faults);
    std::sort(faults.begin(), faults.end(), [](const Fault& a, const Fault& b) { return a.id < b.id; });
    return faults;
  }();
  return all;
}

const Fault* find_fault(std::string_view id) {
  const auto found = std::find_if(zoo().begin(), zoo().end(), [&](const Fault& f) { return f.id == id; });
  return found == zoo().end() ? nullptr : &*found;
}

bool apply_fault(Planned& planned, const Scenario& scenario) {
  const Fault* fault = scenario.fault.empty() ? nullptr : find_fault(scenario.fault);
  return fault != nullptr && fault->rewrite(planned, scenario);
}

}  // namespace shardcheck
