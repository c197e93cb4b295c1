// Presence: which GPUs this process sees, and why there may be none. Where the backend is not built,
// no_cuda.cpp answers. Next: cuda_backend.h.
#pragma once

#include <string>
#include <vector>

namespace shardcheck {

/// Why there is no CUDA backend in this build or on this machine, in a sentence; empty when there is one.
std::string cuda_missing();

/// What tells the GPUs that this process sees from all others, in the order of their device numbers. Empty
/// where there is none.
std::vector<std::string> visible_gpus();

}  // namespace shardcheck
