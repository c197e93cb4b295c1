// The CUDA backend: virtual ranks folded onto the GPUs of this host. Where it is not built, no_cuda.cpp
// stands in.
#pragma once

#include <memory>
#include <string>

#include "backends/options.h"
#include "core/backend.h"

namespace shardcheck {

/// Why there is no CUDA backend in this build or on this machine, in a sentence; empty when there is one.
std::string cuda_missing();

/// Throws Error(machine_cannot) with the sentence of cuda_missing() where there is none.
std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options);

}  // namespace shardcheck
