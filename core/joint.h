// Joint: a backend whose ranks several processes hold, and what a caller asks of it so that all of them know
// the same and take the same turn. Every process makes the same calls in the same order. The backend is made
// by backends/cluster; properties see this file. Next: core/backend.h.
#pragma once

#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"

namespace shardcheck {

class Joint : public Backend {
 public:
  /// What any of the processes found in a case, `mine` being what this one did: the same on all of them.
  /// Those of process 0 first, each once. Throws Error(machine_cannot) when a process is lost.
  virtual std::vector<Finding> agree(const std::vector<Finding>& mine) = 0;

  /// The same machine with all ranks in reach of read: the bytes come from the process that holds them. write
  /// takes them for the ranks that this process holds and drops the others.
  virtual Backend& whole() = 0;
};

/// What any process found, or `mine` where one process holds all ranks.
std::vector<Finding> agreed(Backend& backend, std::vector<Finding> mine);

/// The backend with all ranks in reach: itself where one process holds them.
Backend& whole_of(Backend& backend);

}  // namespace shardcheck
