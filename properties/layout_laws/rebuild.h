// Laws that build the layout of a changed question beside the claim: L11 determinism, L21 tied, L24
// metamorphic (shard-layouts 4.1, 4.2). Next: bytes.h, where numbers move.
#pragma once

#include <cstdint>

#include "properties/layout_laws/facts.h"

namespace shardcheck::laws {

void judge_determinism(const Facts& facts, Findings& findings);
void judge_tied(const Facts& facts, Findings& findings);

/// One of the laws (a) to (e), which `choice` picks.
void judge_metamorphic(const Facts& facts, std::int64_t choice, Findings& findings);

}  // namespace shardcheck::laws
