// The zoo: known bugs of this field as small rewrites of a correct plan. A scenario that names one in its
// field `fault` is planned, rewritten and judged like any other; the clause of the entry must catch it. One
// file a kind of bug: beta_faults.cpp, distributed_faults.cpp, grouped_faults.cpp, hook_faults.cpp,
// lease_faults.cpp, producer_faults.cpp, readiness_faults.cpp, reduction_faults.cpp, rounding_faults.cpp,
// scale_faults.cpp, edge_faults.cpp, symmetry_faults.cpp, loop_faults.cpp, deepspeed_faults.cpp, and of FP8
// weights weight_faults.cpp, weight_use_faults.cpp, delayed_scale_faults.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "sim/planner/planned.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

struct Fault {
  std::string_view id;  ///< of wgrad 7 ("B-21") or fp8 7 ("Q38"); "M-..." is ours, without a public report
  std::string_view source;    ///< the public report, and the entry of known-faults it belongs to
  std::string_view sentence;  ///< what breaks
  std::string_view clause;    ///< the clause that must catch it
  /// Makes a scenario one in which the fault can show: the right kind of owner, uses and sizes.
  void (*prepare)(Scenario& scenario);
  /// Rewrites the plan; false when the plan has nothing to break.
  bool (*rewrite)(Planned& planned, const Scenario& scenario);
};

/// All faults, by id.
const std::vector<Fault>& zoo();

/// Null when there is none of that id.
const Fault* find_fault(std::string_view id);

/// Applies the fault that the scenario names, if any; true when the plan was changed.
bool apply_fault(Planned& planned, const Scenario& scenario);

}  // namespace shardcheck
