#include "sim/planner/declared.h"

namespace shardcheck {

void declare_types(Plan& plan, const Scenario& s) {
  for (std::size_t p = 0; p < plan.parameters.size(); ++p) plan.parameters[p].dtype = s.parameters[p].dtype;
  // A lease is the communication buffer itself; a persistent destination is main_grad.
  plan.declared = {.local = has_leases(s.strategy) ? s.comm : s.main_grad,
                   .wire = s.comm,
                   .outer = type_of_outer_sum(s),
                   .main_grad = s.main_grad};
}

}  // namespace shardcheck
