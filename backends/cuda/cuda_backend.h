// The CUDA backend: virtual ranks folded onto the GPUs of this host. The plan's streams and events are CUDA
// streams and events, so a wait that the plan lacks really races. Where the backend is not built, no_cuda.cpp
// stands in. Next: machine.h (GPUs), memory.h (buffers), execute_op.h (what ops mean), graphs.h (captured
// ops), backends/fold_order.h (the order of additions).
//
// Only what a plan says is a graph runs as a CUDA graph (graphs.h). Measured on an H200 before that was
// built, with a program of its own: a launch costs the host 3.5 us (8.7 with eight threads), a node of a
// graph that is replayed 0.9 (1.8), and to instantiate one 5.3 (29). A case executes its plan once or twice,
// so whole plans as graphs would cost more than they save: that pays from the third replay on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/cuda_options.h"
#include "backends/cuda/presence.h"
#include "backends/graph_counts.h"
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

/// How the regions of plans that are graphs were executed, since the backend was made. All zero when
/// `backend` is no CUDA backend.
GraphCounts graph_counts(const Backend& backend);

}  // namespace shardcheck
