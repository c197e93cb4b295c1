// The CUDA backend: virtual ranks folded onto the GPUs of this host. The plan's streams and events are CUDA
// streams and events, so a wait that the plan lacks really races. Where the backend is not built, no_cuda.cpp
// stands in. Next: machine.h (GPUs), memory.h (buffers), elementwise.h, gemm.h and collectives.h (the
// families of ops), backends/fold_order.h (the order of additions).
//
// Plans are not captured into CUDA graphs. Measured on an H200: a launch costs the host 3.5 us (8.7 with
// eight threads), a node of a graph that is replayed 0.9 (1.8), and to instantiate one 5.3 (29). A case
// executes its plan once or twice, so a graph would cost more than it saves; it pays from the third replay
// on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/cuda_options.h"
#include "backends/cuda/presence.h"
#include "backends/options.h"
#include "core/backend.h"

namespace shardcheck {

/// The backend with cuda_options_from_environment(). The profile in `options` is the reference's; the GPU's
/// is what info() says. Throws Error(machine_cannot) with the sentence of cuda_missing() where there is none.
std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options);

/// As above with options given.
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options);

/// What decided the bits of the GEMMs that `backend` has run: a line for each shape, with the algorithm that
/// cuBLASLt chose (id, tile, stages, split-K, reduction scheme) or with the reason for the emulation. Empty
/// when it is no CUDA backend. For the trace.
std::vector<std::string> gemm_algorithms(const Backend& backend);

}  // namespace shardcheck
