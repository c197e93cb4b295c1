// The zoo of sharded quantisation: known faults as small corruptions of a plan, each with a case that shows
// it and the law that must catch it (fp8 7). Entries Q... are of that catalogue; entries M... are ours, so
// that every judged law has a fault. Next: laws.h.
#pragma once

#include <span>
#include <string_view>

#include "properties/quantisation_law/laws.h"
#include "properties/quantisation_law/quantisation_case.h"

namespace shardcheck {

struct QuantisationFault {
  std::string_view id;     ///< "Q28"
  std::string_view title;  ///< what goes wrong, one sentence
  std::string_view law;    ///< that must catch it
  QuantisationCase (*smallest)();
  CorruptPlan corrupt;
};

std::span<const QuantisationFault> quantisation_zoo();

/// Null when there is none of that id.
const QuantisationFault* find_quantisation_fault(std::string_view id);

/// The smallest case that shows the fault, with the fault in it.
QuantisationCase case_of(const QuantisationFault& fault);

}  // namespace shardcheck
