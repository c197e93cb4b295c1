#include "sim/planner/declared.h"

namespace shardcheck {

void declare_types(Plan& plan, const Scenario& s) {
  for (std::size_t p = 0; p < plan.parameters.size(); ++p) plan.parameters[p].dtype = s.parameters[p].dtype;
  plan.declared = {
      .local = type_of_local_sum(s), .wire = s.comm, .outer = type_of_outer_sum(s), .main_grad = s.main_grad};
}

}  // namespace shardcheck
