#include <algorithm>
#include <cstring>

#include "backends/cuda/check.h"
#include "backends/cuda/digest.h"
#include "core/assert.h"
#include "core/digest.h"

namespace shardcheck::gpu {

constexpr int kDigestThreads = 256;
/// Words that a thread fetches at a time: two of 16 bytes in flight.
constexpr int kWordsATurn = 4;

/// Word `index` of a range that begins anywhere, zeros past its end. An element never straddles two words.
template <class Element>
__device__ std::uint64_t word_at(const Element* from, long long count, long long index) {
  constexpr int kElements = static_cast<int>(sizeof(std::uint64_t) / sizeof(Element));
  std::uint64_t word = 0;
#pragma unroll
  for (int e = 0; e < kElements; ++e) {
    const long long at = index * kElements + e;
    if (at < count) word |= static_cast<std::uint64_t>(from[at]) << (8 * sizeof(Element) * e);
  }
  return word;
}

/// The sum of a block's threads, in thread 0.
__device__ std::uint64_t sum_of_block(std::uint64_t sum) {
  __shared__ std::uint64_t of_warp[kDigestThreads / 32];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(~0u, sum, distance);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  if (threadIdx.x == 0) {
    for (const std::uint64_t each : of_warp) sum += each;
  }
  return sum;
}

/// grid.y: the range. Threads stride over groups of words where the range begins on 16 bytes, then over what
/// is left word by word.
template <class Element>
__global__ void __launch_bounds__(kDigestThreads)
    digest(const __grid_constant__ DigestTable table, const NanLanes lanes, std::uint64_t* sums) {
  const auto* const from = static_cast<const Element*>(table.source[blockIdx.y]);
  const long long bytes = table.bytes[blockIdx.y];
  const long long words = (bytes + 7) / 8;
  const bool aligned = reinterpret_cast<std::uintptr_t>(from) % 16 == 0;
  const long long groups = aligned ? bytes / 8 / kWordsATurn : 0;
  const long long thread = static_cast<long long>(blockIdx.x) * kDigestThreads + threadIdx.x;
  const long long threads = static_cast<long long>(gridDim.x) * kDigestThreads;
  std::uint64_t sum = 0;
  for (long long g = thread; g < groups; g += threads) {
    const auto* const at = reinterpret_cast<const ulonglong2*>(from) + g * (kWordsATurn / 2);
    const ulonglong2 pair[2] = {__ldcs(at), __ldcs(at + 1)};
    const long long first = g * kWordsATurn;
    sum += digest_term(lanes.canonical_word(pair[0].x), first);
    sum += digest_term(lanes.canonical_word(pair[0].y), first + 1);
    sum += digest_term(lanes.canonical_word(pair[1].x), first + 2);
    sum += digest_term(lanes.canonical_word(pair[1].y), first + 3);
  }
  for (long long w = groups * kWordsATurn + thread; w < words; w += threads) {
    const auto count = static_cast<long long>(bytes / static_cast<long long>(sizeof(Element)));
    sum += digest_term(lanes.canonical_word(word_at(from, count, w)), w);
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned long long*>(sums + blockIdx.y), sum);
}

void launch_digests(const DigestTable& table, DType type, std::uint64_t* sums, cudaStream_t stream) {
  if (table.ranges == 0) return;
  // A few blocks for each multiprocessor of any chip; the loop strides over the rest.
  constexpr long long kMostBlocks = 2048;
  const long long longest = *std::max_element(table.bytes, table.bytes + table.ranges);
  const long long wanted = (longest / 8 / kWordsATurn + kDigestThreads) / kDigestThreads;
  const dim3 grid(static_cast<unsigned>(std::min(kMostBlocks, wanted)), static_cast<unsigned>(table.ranges));
  const NanLanes lanes = nan_lanes_of(type);
  switch (bytes_of(type)) {
    case 4: digest<std::uint32_t><<<grid, kDigestThreads, 0, stream>>>(table, lanes, sums); break;
    case 2: digest<std::uint16_t><<<grid, kDigestThreads, 0, stream>>>(table, lanes, sums); break;
    default: digest<std::uint8_t><<<grid, kDigestThreads, 0, stream>>>(table, lanes, sums); break;
  }
  check(cudaGetLastError(), "launch of digests");
}

}  // namespace shardcheck::gpu
