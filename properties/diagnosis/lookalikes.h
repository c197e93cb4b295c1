// Lookalikes: known bugs of the zoo that break the same clause, the one whose circumstances are most like the
// scenario's first, with the public report behind each.
#pragma once

#include <string>
#include <vector>

#include "core/contract/finding.h"
#include "sim/faults/zoo.h"

namespace shardcheck {

/// Fields in which two scenarios differ, sizes and names left out.
int difference_in_kind(const Scenario& a, const Scenario& b);

/// "B-08 (NVIDIA/Megatron-LM#6357): ...", at most five.
std::vector<std::string> lookalikes(const Scenario& scenario, const Finding& finding,
                                    std::span<const Fault> faults);

}  // namespace shardcheck
