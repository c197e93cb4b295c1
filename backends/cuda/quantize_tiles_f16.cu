#include "backends/cuda/check.h"
#include "backends/cuda/quantize_tiles.cuh"
#include "backends/cuda/with_fp8.cuh"

namespace shardcheck::gpu {

void launch_tiles_of_f16(const TileJob& job, DType codes, TileScheme scheme, cudaStream_t stream) {
  with_fp8(codes, [&](auto d) { launch_tiles<F16, decltype(d)>(job, scheme, stream); });
  check(cudaGetLastError(), "launch of a quantisation by tiles of f16");
}

}  // namespace shardcheck::gpu
