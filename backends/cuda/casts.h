// Kernels of ops with FP8 on one side, on all ranks of a GPU in one launch. Each result has the bits of
// backends/cpu/casts.h. Next: casts.cuh, the loop.
#pragma once

#include <cuda_runtime.h>

#include "backends/cuda/elementwise.h"
#include "backends/cuda/fp8_edges.h"

namespace shardcheck::gpu {

/// An elementwise table and, for quantisation, one fp32 scale a rank.
struct ConvertTable {
  RankTable ranks;
  const float* scale[kRanksPerLaunch];  ///< each null when elements are not multiplied
  Fp8Edges edges;                       ///< for destinations in FP8
};

/// destination := source, first multiplied by the scale of its rank (rounded to fp32) when there is one. FP8
/// on at least one side.
void launch_convert(const ConvertTable& table, Types types, cudaStream_t stream);

}  // namespace shardcheck::gpu
