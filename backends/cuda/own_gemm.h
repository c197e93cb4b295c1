// Our own kernels for products, all ranks of a GPU in one launch: the tensor core's arithmetic in integers,
// for small products and for what cuBLASLt refuses, and the exact sum of a weight gradient, for fp32
// operands. Next: hopper_gemm.cu and exact_gemm.cu; gemm.h, which chooses.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backends/cpu/matmul_problem.h"
#include "backends/cuda/elementwise.h"
#include "core/plan/op.h"

namespace shardcheck::gpu {

/// The operands of a Matmul on every rank. Strides are those of problem_of().
struct MatmulTable {
  const void* a[kRanksPerLaunch];
  const void* b[kRanksPerLaunch];
  const float* scales_a[kRanksPerLaunch];
  const float* scales_b[kRanksPerLaunch];
  void* d[kRanksPerLaunch];
  int ranks;
  Matmul op;
  long long a_row_stride, a_k_stride, b_row_stride, b_k_stride;
};

/// By the profile `hopper` (tensor-core 1), which must have a rule for the op; operands are not fp32. With
/// NaN or infinity among them the class of a result is right, and NaN is written as the canonical quiet NaN.
void launch_hopper_matmul(const MatmulTable& table, MatmulTypes types, cudaStream_t stream);

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

/// By the profile `ideal`: the exact sum, with the destination in it when accumulating, rounded once;
/// operands f32, bf16 or f16; fewer than 2^30 tokens.
void launch_exact_gemm(const GemmTable& table, GemmTypes types, cudaStream_t stream);

}  // namespace shardcheck::gpu
