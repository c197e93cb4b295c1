// A fingerprint as people read it: what has the same facts is told once. Next: as_json.h, the whole of it.
#pragma once

#include <string>
#include <vector>

#include "properties/fingerprint/fingerprint.h"
#include "tools/shardcheck/terminal.h"

namespace shardcheck {

/// Machine, versions, then a table a kind of computation: fact, value, of what, how it was seen.
std::string fingerprint_text(const Terminal& terminal, const Fingerprint& fingerprint,
                             const std::vector<std::string>& versions);

/// A table of the facts that differ, with the two names over the values.
std::string differences_text(const Terminal& terminal, const std::vector<FactDifference>& differences);

}  // namespace shardcheck
