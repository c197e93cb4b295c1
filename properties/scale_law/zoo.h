// The zoo of scales: machines with one known fault each, and the law that must catch it (fp8 7). Entries Q...
// are of that catalogue; entries M... are ours, so that every judged law has a fault. Next: scale_laws.h.
#pragma once

#include <span>
#include <string_view>

#include "properties/scale_law/scale_case.h"
#include "properties/scale_law/scale_machine.h"

namespace shardcheck {

struct ScaleFault {
  std::string_view id;      ///< "Q11"
  std::string_view title;   ///< what goes wrong, one sentence
  std::string_view law;     ///< that must catch it
  std::string_view recipe;  ///< that shows it
  ScaleRules rules;
};

std::span<const ScaleFault> scale_zoo();

/// Null when there is none of that id.
const ScaleFault* find_scale_fault(std::string_view id);

/// The smallest case that shows the fault, with the fault in it.
ScaleCase case_of(const ScaleFault& fault);

}  // namespace shardcheck
