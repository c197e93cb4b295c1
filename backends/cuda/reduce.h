// Kernels of collectives among the ranks of one GPU: sums in the order of a list, maxima, and gathers. All
// groups of an op in one launch. Next: collectives.cpp, which orders the addends and looks after aliases.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backends/cuda/elementwise.h"
#include "core/tensor/dtype.h"

namespace shardcheck::gpu {

/// result = carry + input[0] + input[1] + ..., added in this order, one rounding to the element type an
/// addition, each input first multiplied by `factor` and rounded when `multiplies`; or their maximum, of fp32
/// alone, to which a NaN is nothing. Group g has the inputs and outputs from g * inputs and g * outputs on.
/// An element is read by the same thread that writes that element of the result.
struct ReduceTable {
  const void* input[kRanksPerLaunch];
  void* output[kRanksPerLaunch];
  const void* carry;  ///< the first term, or null; only with one group
  int inputs, outputs, groups;
  long long numel;  ///< of every input
  /// Elements of an output: `numel` when each output gets all of the result; less when output j gets part j.
  long long part;
  bool multiplies;
  float factor;
  bool takes_largest;
  bool aligned;  ///< every address is a multiple of 16, and parts are whole packs
};

void launch_reduce(const ReduceTable& table, DType type, cudaStream_t stream);

/// Output j of a group [(first_position + i) * bytes ...) := input i of the group, for all i and j. An input
/// may be that part of its own output.
struct GatherTable {
  const void* input[kRanksPerLaunch];
  void* output[kRanksPerLaunch];
  int inputs, outputs, groups;
  int first_position;
  long long bytes;  ///< of every input
};

void launch_gather(const GatherTable& table, cudaStream_t stream);

}  // namespace shardcheck::gpu
