// The zoo of formats: machines with one known fault each, and the law that must catch it (fp8 7). Entries
// Q... are of that catalogue; entries M... are ours, so that every judged law has a fault. Next:
// format_laws.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "properties/format_law/format_case.h"
#include "properties/format_law/number_machine.h"

namespace shardcheck {

struct FormatFault {
  std::string_view id;                  ///< "Q07"
  std::string_view title;               ///< what goes wrong, one sentence
  std::string_view law;                 ///< that must catch it
  FormatId format;                      ///< that shows it
  std::string_view policy;              ///< likewise
  std::array<std::uint32_t, 2> inputs;  ///< likewise, fp32 bits; 0 is none
  NumberRules rules;
};

std::span<const FormatFault> format_zoo();

/// Null when there is none of that id.
const FormatFault* find_format_fault(std::string_view id);

/// The smallest case that shows the fault, with the fault in it.
FormatCase case_of(const FormatFault& fault);

}  // namespace shardcheck
