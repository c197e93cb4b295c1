// Ops on blocks, from the operands of an op's ranks on one GPU to launches: sizes and types are checked, as
// the reference checks them, and the table of addresses is filled. Next: block_ops.h, quantize_matrix.h.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <span>

#include "backends/cuda/memory.h"
#include "core/plan/op.h"

namespace shardcheck::gpu {

/// The operands of an op on one rank; the last ones are empty where the op has fewer.
using BlockRanges = std::array<Range, 5>;

/// Where an op is enqueued: at most kRanksPerLaunch ranks of the current GPU.
struct BlockCall {
  std::span<const BlockRanges> ranks;
  std::byte* scratch;  ///< of scratch_for() bytes
  cudaStream_t stream;
};

/// Bytes that the op needs beside its operands.
std::int64_t scratch_for(const QuantizeMatrix& quantize, std::size_t ranks);
template <class Action>
std::int64_t scratch_for(const Action&, std::size_t) {
  return 0;
}

void enqueue(const TakeAmax& take, const BlockCall& call);
void enqueue(const ScaleFromAmax& scale, const BlockCall& call);
void enqueue(const QuantizeBlocks& quantize, const BlockCall& call);
void enqueue(const DequantizeBlocks& dequantize, const BlockCall& call);
void enqueue(const QuantizeMatrix& quantize, const BlockCall& call);
void enqueue(const DeriveColumnCopy& derive, const BlockCall& call);
void enqueue(const CloseDelayedStep& close, const BlockCall& call);

template <class Action>
concept BlockAction = requires(const Action& action, const BlockCall& call) {
  enqueue(action, call);
};

}  // namespace shardcheck::gpu
