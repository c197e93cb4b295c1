// Kernels of ops on blocks that share a scale, over any piece of a matrix, on all ranks of a GPU in one
// launch. Each result has the bits of backends/cpu/block_ops.h. Next: quantize_tiles.h, whole matrices.
#pragma once

#include <cuda_runtime.h>

#include "backends/cuda/block_shapes.h"
#include "backends/cuda/elementwise.h"

namespace shardcheck::gpu {

/// Operand `o` of the op on the i-th rank begins at at[o][i]; null where the view is empty.
struct OperandTable {
  static constexpr int kOperands = 5;
  void* at[kOperands][kRanksPerLaunch];
  long long numel[kRanksPerLaunch];  ///< of the piece: operand 0
  int ranks;
  bool aligned;  ///< the addresses of numbers and codes are multiples of 16
};

/// Amaxes (operand 1) := the larger of themselves and of the magnitudes of the piece (operand 0), which
/// begins at element `start` of the matrix.
void launch_take_amax(const OperandTable& table, DType source, const CopyShape& shape, long long start,
                      cudaStream_t stream);

/// From amaxes (operand 0): factors (operand 1) and the plane of stored scales (operand 2).
void launch_scale_from_amax(const OperandTable& table, const CopyShape& shape, cudaStream_t stream);

/// Codes (operand 2) of the piece (operand 0) by the factors of its blocks (operand 1).
void launch_quantize_blocks(const OperandTable& table, Types types, const CopyShape& shape, long long start,
                            cudaStream_t stream);

/// Numbers (operand 2) from the codes of the piece (operand 0) and the plane of scales (operand 1).
void launch_dequantize_blocks(const OperandTable& table, Types types, const CopyShape& shape, long long start,
                              cudaStream_t stream);

/// What CloseDelayedStep says, ready to be computed with.
struct DelayedRule {
  bool most_recent, rolls_on_zero;
  float target;  ///< fmax * 2^-margin
};
/// Operand 0 the amax, 1 the history, of `numel` slots, 2 the scale and its inverse.
void launch_close_delayed_step(const OperandTable& table, const DelayedRule& rule, cudaStream_t stream);

}  // namespace shardcheck::gpu
