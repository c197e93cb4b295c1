// A column copy out of a row copy: the codes transposed, and the plane of scales laid out anew. Next:
// quantize_matrix.h.
#pragma once

#include <cuda_runtime.h>

#include "backends/cuda/block_ops.h"

namespace shardcheck::gpu {

/// Operand 2 (columns x rows bytes) := operand 0 (rows x columns bytes) transposed. `numel` of the table is
/// not looked at.
void launch_transpose_bytes(const OperandTable& table, long long rows, long long columns,
                            cudaStream_t stream);

/// The scales of one plane (operand 1) in the places of another (operand 3), with zeros for padding.
struct PlanePair {
  PlaneShape from, to;  ///< of one grid
};
void launch_lay_out_scales(const OperandTable& table, const PlanePair& planes, cudaStream_t stream);

/// Zeros in the padding of the plane that operand `operand` is.
void launch_zero_padding(const OperandTable& table, int operand, const PlaneShape& plane,
                         cudaStream_t stream);

}  // namespace shardcheck::gpu
