// A whole matrix to both of its copies: in one pass by tiles where blocks fit into a tile, else amaxes and
// scales first. Next: block_unit.cpp, which calls it.
#pragma once

#include <cuda_runtime.h>

#include "backends/cuda/quantize_tiles.h"
#include "core/plan/op.h"

namespace shardcheck::gpu {

/// Bytes of memory that enqueue_quantize_matrix() needs for itself.
std::int64_t scratch_of(const QuantizeMatrix& quantize, int ranks);

/// The operands of QuantizeMatrix in the table; `row` and `column` are the types of codes, of which one that
/// is not wanted says nothing.
struct MatrixTypes {
  DType source, row, column;
};
void enqueue_quantize_matrix(const QuantizeMatrix& quantize, const OperandTable& table,
                             const MatrixTypes& types, std::byte* scratch, cudaStream_t stream);

/// The column copy out of the row copy, where the recipe derives it.
void enqueue_derive_column_copy(const DeriveColumnCopy& derive, const OperandTable& table,
                                cudaStream_t stream);

}  // namespace shardcheck::gpu
