// Owners of CUDA streams and events.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "backends/cuda/check.h"

namespace shardcheck::gpu {

struct DestroyStream {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using OwnedStream = std::unique_ptr<CUstream_st, DestroyStream>;
using OwnedEvent = std::unique_ptr<CUevent_st, DestroyEvent>;

/// On the current device; not ordered with the legacy default stream.
inline OwnedStream make_stream() {
  cudaStream_t stream = nullptr;
  SC_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return OwnedStream(stream);
}

/// On the current device; for order only.
inline OwnedEvent make_event() {
  cudaEvent_t event = nullptr;
  SC_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return OwnedEvent(event);
}

}  // namespace shardcheck::gpu
