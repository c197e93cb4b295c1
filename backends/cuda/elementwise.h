// Kernels of ops that treat every element alone, on all ranks of a GPU in one launch. Each result has the
// bits of backends/cpu/elementwise.h. Views are given rank by rank, in the kernel's parameters.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/tensor/dtype.h"

namespace shardcheck::gpu {

/// Ranks that one launch takes; more ranks are more launches.
inline constexpr int kRanksPerLaunch = 64;

/// What an elementwise kernel reads and changes: source[i] -> destination[i] on the i-th rank, numel[i]
/// elements. A source is its destination or apart from it.
struct RankTable {
  const void* source[kRanksPerLaunch];
  void* destination[kRanksPerLaunch];
  long long numel[kRanksPerLaunch];
  int ranks;
  bool aligned;  ///< every address is a multiple of 16
};

/// Every element of `size` bytes (1, 2 or 4) of the destinations := the low bytes of `bits`.
void launch_fill(const RankTable& table, int size, std::uint32_t bits, cudaStream_t stream);

/// destination := source, elements of `size` bytes.
void launch_copy_bits(const RankTable& table, int size, cudaStream_t stream);

/// The types of the two sides of an op.
struct Types {
  DType source, destination;
};

/// destination := source, rounded to nearest even; the types differ.
void launch_cast(const RankTable& table, Types types, cudaStream_t stream);

/// destination := destination + source, one rounding.
void launch_add(const RankTable& table, Types types, cudaStream_t stream);

/// destination := destination * factor, one rounding.
void launch_scale(const RankTable& table, DType type, float factor, cudaStream_t stream);

/// destination (fp32) := destination - rate * source, two roundings.
void launch_sgd_step(const RankTable& table, DType source, float rate, cudaStream_t stream);

}  // namespace shardcheck::gpu
