// Verdicts: what every process found becomes what all of them know. A process sees the gradients of its own
// ranks only, so a case holds when no process has a finding; and a search, its shrinks and its end must take
// the same turn everywhere. Next: joint_backend.h.
#pragma once

#include <span>
#include <vector>

#include "backends/cluster/transport.h"
#include "core/contract/finding.h"

namespace shardcheck {

/// What any process found in a case: process 0's findings first, then the others' in their order, each once.
/// The same on all processes. Throws Error(machine_cannot).
std::vector<Finding> agree(Transport& transport, const std::vector<Finding>& mine);

/// True when it is true on any process.
bool agree_on_any(Transport& transport, bool mine);

/// The exit status that all processes end with: the gravest of theirs, in the order 70 (our own mistake), 3
/// (the machine cannot), 2 (bad input), 1 (a clause was broken), 130 (interrupted), 4 (gave up), 0.
int agree_on_exit(Transport& transport, int mine);

/// Findings as bytes and back, for one binary on machines of one kind. Bytes that are no findings are
/// Error(machine_cannot).
std::vector<std::byte> to_bytes(const std::vector<Finding>& findings);
std::vector<Finding> findings_from_bytes(std::span<const std::byte> bytes);

}  // namespace shardcheck
