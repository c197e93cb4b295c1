// Digests of ranges where they lie: the definition is core/digest.h, computed word by word by many threads,
// because a sum has no order. Read next: digest.cu; cuda_backend.cpp, whose digests() it serves.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backends/cuda/elementwise.h"
#include "core/tensor/dtype.h"

namespace shardcheck::gpu {

/// Where the ranges of one launch begin, and their sizes; all of one type.
struct DigestTable {
  const void* source[kRanksPerLaunch];
  long long bytes[kRanksPerLaunch];
  int ranges;
};

/// sums[i] += digest_term(word, index) over the words of range i, in any order, modulo 2^64. What the number
/// of elements adds is left to the caller.
void launch_digests(const DigestTable& table, DType type, std::uint64_t* sums, cudaStream_t stream);

}  // namespace shardcheck::gpu
