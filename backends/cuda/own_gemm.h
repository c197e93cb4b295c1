// Our own kernels for weight gradients, all ranks of a GPU in one launch: the tensor core's arithmetic in
// integers, for small products and for operands that cuBLASLt refuses, and the exact sum, for fp32 operands.
// Next: hopper_gemm.cu and exact_gemm.cu; gemm.h, which chooses.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backends/cuda/elementwise.h"
#include "core/tensor/dtype.h"

namespace shardcheck::gpu {

/// destination (rows x columns, row-major) := dy^T x, or += when `accumulate`; dy is tokens x rows, x is
/// tokens x columns. At least one token.
struct GemmTable {
  const void* dy[kRanksPerLaunch];
  const void* x[kRanksPerLaunch];
  void* destination[kRanksPerLaunch];
  int ranks;
  long long tokens, rows, columns;
  bool accumulate;
};

struct GemmTypes {
  DType operand;      ///< of dy and x
  DType destination;  ///< f32, bf16 or f16
};

/// By the profile `hopper` (tensor-core 1): operands bf16 or f16. With NaN or infinity among the operands the
/// class of a result is right, and NaN is written as the canonical quiet NaN.
void launch_hopper_gemm(const GemmTable& table, GemmTypes types, cudaStream_t stream);

/// By the profile `ideal`: the exact sum, with the destination in it when accumulating, rounded once;
/// operands f32, bf16 or f16; fewer than 2^30 tokens.
void launch_exact_gemm(const GemmTable& table, GemmTypes types, cudaStream_t stream);

}  // namespace shardcheck::gpu
