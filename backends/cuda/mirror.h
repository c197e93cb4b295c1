// Mirror: what the host has read of small buffers since the device's memory last changed. A reader asks rank
// by rank, and a copy costs 8 to 50 us whatever its size (measured; the most with eight threads and pageable
// memory), so the parts of all ranks that lie on the GPU are fetched at once, through page-locked memory.
// Next: cuda_backend.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cuda/memory.h"

namespace shardcheck::gpu {

class Mirror {
 public:
  /// The device's memory may have changed: nothing that was read holds any more.
  void forget() {
    fetched_.clear();
    used_ = 0;
  }

  /// The bytes of `range`, which lies in `slab`: those of the last fetch, or of one that is made now, after
  /// all ops so far; nullptr when the slab is too large to be worth it. Valid until the next call.
  const std::byte* find(const Range& range, const SlabPart& slab, Gpu& gpu);

 private:
  struct FreeHostMemory {
    void operator()(std::byte* memory) const { cudaFreeHost(memory); }
  };
  struct Fetched {
    const std::byte* device;  ///< where the slab begins
    std::int64_t at;          ///< in `memory_`
  };
  std::int64_t fetch(const SlabPart& slab, Gpu& gpu);

  std::unique_ptr<std::byte, FreeHostMemory> memory_;
  std::int64_t used_ = 0;
  std::vector<Fetched> fetched_;
};

}  // namespace shardcheck::gpu
