// Lockstep: one plan on two backends, op by op; the first op after which something that it wrote differs. For
// a numeric bug that is the bug, whichever element a finding names.
#pragma once

#include <optional>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

struct Difference {
  OpIndex op;
  std::string op_text;
  Rank rank;
  View place;  ///< one element of the buffer that the op wrote
  Sighting expected, actual;
};

struct Twins {
  Backend& reference;
  Backend& candidate;
};

/// The first difference in bits, in the order of the plan, then of ranks and elements.
std::optional<Difference> first_difference(const Scenario& scenario, Poison poison, Twins twins);

}  // namespace shardcheck
