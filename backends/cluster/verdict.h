// Verdicts: what every process found becomes what all of them know. A process sees the gradients of its own
// ranks only, so a case holds when no process has a finding; and a search, its shrinks and its end must take
// the same turn everywhere. One call a case, and one at the end.
#pragma once

#include <span>
#include <vector>

#include "backends/cluster/transport.h"
#include "core/contract/finding.h"

namespace shardcheck {

/// What a process knows at the end of a case.
struct CaseVerdict {
  std::vector<Finding> findings;
  bool wants_stop = false;  ///< its time is over, or somebody interrupted it
  double budget_used = 0;   ///< largest share of a bound
};

/// Process 0's findings first, then the others' in their order, each once; stop when anybody wants to; the
/// largest budget. The same on all processes. Throws Error(machine_cannot).
CaseVerdict agree(Transport& transport, const CaseVerdict& mine);

/// The exit status that all processes end with: the gravest of theirs, in the order 70 (our own mistake), 3
/// (the machine cannot), 2 (bad input), 1 (a clause was broken), 4 (gave up), 0.
int agree_on_exit(Transport& transport, int mine);

/// Findings as bytes and back, for one binary on machines of one kind. Bytes that are no findings are
/// Error(machine_cannot).
std::vector<std::byte> to_bytes(const CaseVerdict& verdict);
CaseVerdict verdict_from_bytes(std::span<const std::byte> bytes);

}  // namespace shardcheck
