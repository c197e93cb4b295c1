// The laws of formats and of their casts, F1, F2, F4 to F6, F9 to F11, F13 to F17 (fp8 5.1), over what one
// machine made of one case. They know the specification's tables and each other's numbers, not the encoder.
// F3, F7, F8 and F12 are judged by properties/cast_law. Next: zoo.h.
#pragma once

#include <vector>

#include "core/contract/finding.h"
#include "properties/format_law/format_case.h"
#include "properties/format_law/number_machine.h"

namespace shardcheck {

/// Every broken law, each once, with the first number that shows it; F13 alone where codes lie in each
/// other's places, because nothing else can be said then. Nothing where another process holds the rank.
std::vector<Finding> judge_format(const FormatCase& c, const NumberMachine& machine);

}  // namespace shardcheck
