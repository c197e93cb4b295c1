// Delay: a kernel that does nothing for a while. It keeps a stream busy on the device, so that the host
// enqueues what follows, and other streams overtake. Next: core/delaying.h.
#pragma once

#include <cuda_runtime.h>

#include <chrono>

namespace shardcheck::gpu {

/// What comes next in `stream`, of the current GPU, begins at least `length` after the kernel has begun, by
/// the GPU's own clock. One thread, so the GPU has room for everything else. A length of 0 launches nothing.
void launch_delay(std::chrono::microseconds length, cudaStream_t stream);

}  // namespace shardcheck::gpu
