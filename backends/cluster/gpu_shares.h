// GPU shares: which of the GPUs that a process sees are its own. The processes of a host share its GPUs in
// blocks, in the order of their local ranks; a launcher may also have shown each process its own alone. Next:
// cuda/world.h.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cluster/transport.h"
#include "backends/options.h"
#include "core/backend.h"

namespace shardcheck {

namespace cluster {

/// What a process says of itself.
struct Seen {
  int local = 0;                  ///< its local rank
  std::vector<std::string> gpus;  ///< names that tell a GPU from all others, by device number
  bool operator==(const Seen&) const = default;
};

/// The device numbers of the GPUs of every process. Processes that see the same GPUs are taken for those of
/// one host; where they are more than the GPUs, several have one and the same. None where a process sees
/// none.
std::vector<std::vector<int>> shares_of(std::span<const Seen> processes);

/// True when no GPU is in two shares: then NCCL can cross.
bool are_apart(std::span<const Seen> processes, std::span<const std::vector<int>> shares);

}  // namespace cluster

/// The CUDA backend of one of several processes. Where every process has GPUs of its own, NCCL crosses and
/// the order of additions is that of one process with all of them (cuda/world.h); where processes share a
/// GPU, which NCCL refuses, what crosses goes through host memory. info() says which. All processes make this
/// call. `transport` must outlive the backend. Throws Error(machine_cannot).
std::unique_ptr<Backend> make_cuda_part(const BackendOptions& options, Transport& transport);

}  // namespace shardcheck
