#include "sim/faults/zoo.h"

#include <algorithm>

namespace shardcheck {

std::span<const Fault> zoo() {
  return {};
}

const Fault* find_fault(std::string_view id) {
  const auto all = zoo();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Fault& f) { return f.id == id; });
  return found == all.end() ? nullptr : &*found;
}

bool apply_fault(Planned& planned, const Scenario& scenario) {
  const Fault* fault = scenario.fault.empty() ? nullptr : find_fault(scenario.fault);
  return fault != nullptr && fault->rewrite(planned, scenario);
}

}  // namespace shardcheck
