// The numeric faults: what a kernel or a collective gets wrong while the plan is right. Data first: a fault
// is its name, a sentence, which ops it touches and how it executes one. Faults of protocol are rewrites of
// plans and live in sim/faults.
#pragma once

#include <span>
#include <string_view>

#include "core/backend.h"

namespace shardcheck {

struct NumericFault {
  std::string_view name;      ///< as in "faulty:NAME"
  std::string_view sentence;  ///< what goes wrong
  std::string_view clauses;   ///< the clauses that it breaks, or none
  bool (*touches)(const Action& action);
  void (*execute)(Backend& inner, const Plan& plan, OpIndex index);  ///< instead of inner.execute on that op
};

std::span<const NumericFault> list_numeric_faults();

/// The fault of that name, or null.
const NumericFault* find_numeric_fault(std::string_view name);

}  // namespace shardcheck
