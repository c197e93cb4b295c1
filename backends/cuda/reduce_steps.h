// The launches that a collective is made of: sums of any number of inputs, and results dealt out to any
// number of outputs, each in as many launches as the kernels' tables need. Next: collectives.cpp, which
// composes them.
#pragma once

#include <cuda_runtime.h>

#include <span>

#include "backends/cuda/memory.h"

namespace shardcheck::gpu {

/// 1/R rounded once to the element type: the factor of an average.
float rounded_reciprocal(DType type, std::size_t count);

/// Where a group's addends lie and what becomes of them; equal sizes and types, all on one GPU.
struct Addends {
  std::span<const Range> inputs;
  std::span<const std::size_t> order;  ///< positions in `inputs`, in the order of the additions
  bool multiplies = false;             ///< each by `factor`, rounded, before it is added
  float factor = 1;
};

/// destination := the sum of the addends in their order.
void sum_into(std::byte* destination, const Addends& addends, cudaStream_t stream);

/// Output `position` of a reduction := its part of the result, or all of it when sizes are equal.
void deal_out(const Range& result, const Range& output, std::size_t position, cudaStream_t stream);

/// destination + position * bytes := input.
void place(std::byte* destination, const Range& input, std::size_t position, cudaStream_t stream);

/// output := the bytes at `source`, which lie apart from it.
void copy_whole(const std::byte* source, const Range& output, cudaStream_t stream);

/// True for an address that a 16-byte access can start at.
inline bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

}  // namespace shardcheck::gpu
