// The launches that a collective is made of: sums of any number of inputs, and results dealt out to any
// number of outputs, each in as many launches as the kernels' tables need. Next: collectives.cpp, which
// composes them.
#pragma once

#include <cuda_runtime.h>

#include <span>

#include "backends/cuda/elementwise.h"
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
  bool takes_largest = false;  ///< of them instead of their sum
};

/// destination := the sum of the addends in their order, or the largest of them.
void sum_into(std::byte* destination, const Addends& addends, cudaStream_t stream);

/// Some ranges of a group: those at `positions`, which lie on one GPU.
struct Members {
  std::span<const Range> ranges;  ///< of the whole group
  std::span<const std::size_t> positions;
};

/// Output i of a reduction := part i of the result, or all of it when sizes are equal; for all members.
void deal_out(const Range& result, const Members& outputs, cudaStream_t stream);

/// destination + i * bytes := input i, for all members.
void place(std::byte* destination, const Members& inputs, cudaStream_t stream);

/// Every member := the bytes at `source`, which lie apart from it.
void copy_whole(const std::byte* source, const Members& outputs, cudaStream_t stream);

/// Calls body(first, count) for the stretches of neighbouring positions, kRanksPerLaunch at most.
template <class Body>
void for_each_stretch(std::span<const std::size_t> positions, Body body) {
  std::size_t first = 0;
  for (std::size_t n = 1; n <= positions.size(); ++n) {
    const bool goes_on = n < positions.size() && positions[n] == positions[n - 1] + 1 &&
                         n - first < static_cast<std::size_t>(kRanksPerLaunch);
    if (goes_on) continue;
    body(positions[first], n - first);
    first = n;
  }
}

/// True for an address that a 16-byte access can start at.
inline bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

}  // namespace shardcheck::gpu
