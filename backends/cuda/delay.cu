#include "backends/cuda/check.h"
#include "backends/cuda/delay.h"

namespace shardcheck::gpu {
namespace {

/// Nanoseconds. Its steps are of a microsecond or less, and it runs on while the thread sleeps.
__device__ unsigned long long global_timer() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void stand_still(unsigned long long nanoseconds) {
  const unsigned long long begin = global_timer();
  while (global_timer() - begin < nanoseconds) __nanosleep(500);
}

}  // namespace

void launch_delay(std::chrono::microseconds length, cudaStream_t stream) {
  if (length.count() <= 0) return;
  const std::chrono::nanoseconds exact = length;
  stand_still<<<1, 1, 0, stream>>>(static_cast<unsigned long long>(exact.count()));
  SC_CHECK(cudaGetLastError());
}

}  // namespace shardcheck::gpu
