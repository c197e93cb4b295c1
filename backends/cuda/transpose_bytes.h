// A column copy out of a row copy: the codes transposed, and the plane of scales laid out anew. Next:
// quantize_matrix.h.
#pragma once

#include <cuda_runtime.h>

#include "backends/cuda/block_ops.h"

namespace shardcheck::gpu {

/// Two planes of one grid.
struct PlanePair {
  PlaneShape from, to;
};
/// Operand 2 (columns x rows bytes) := operand 0 (rows x columns bytes) transposed; the scales of operand 1,
/// a plane `from`, in the places of operand 3, a plane `to`, with zeros for padding.
void launch_derive_column_copy(const OperandTable& table, long long rows, long long columns,
                               const PlanePair& planes, cudaStream_t stream);

/// Zeros in the padding of the plane that operand `operand` is.
void launch_zero_padding(const OperandTable& table, int operand, const PlaneShape& plane,
                         cudaStream_t stream);

}  // namespace shardcheck::gpu
