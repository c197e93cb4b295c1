// World: the GPUs of several processes that ranks are folded onto together, as if one process had all of
// them. The GPUs are numbered through the processes; each process enqueues the share of its own in every op
// and every collective, and NCCL crosses. Next: machine.h, communicators.h; backends/cluster/gpu_shares.h
// makes worlds.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace shardcheck {

struct World {
  int first = 0;  ///< the number of this process's first GPU
  int gpus = 0;   ///< of all processes; 0: this process is alone
  /// Gives `mine`, or nothing, and returns what the one process that gave something gave. All processes call
  /// it in the same order. Throws Error(machine_cannot).
  std::function<std::vector<std::byte>(std::span<const std::byte> mine)> share;

  bool is_alone() const { return gpus == 0; }
};

}  // namespace shardcheck
