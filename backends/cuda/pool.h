// Pool: memory for the ranks on one GPU: its own, or page-locked memory of the host, which its kernels and
// copies reach under the same address. Blocks come from the driver and go back to the pool, so that thousands
// of small plans allocate only at first. Invariant: a block is released only when no work in flight uses it
// (the caller has waited).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardcheck::gpu {

enum class MemoryOf : std::uint8_t { device, host };

/// Memory aligned to 256 bytes.
struct Block {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

class Pool {
 public:
  Pool(int device, MemoryOf of) : device_(device), of_(of) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// At least `bytes`. Error(machine_cannot) when there is no such room, even after trim().
  Block acquire(std::int64_t bytes);
  void release(Block block);
  /// Gives what nobody uses back to the driver.
  void trim();

 private:
  cudaError_t make(std::byte** data, std::int64_t bytes) const;
  cudaError_t unmake(std::byte* data) const;
  [[noreturn]] void fail(std::int64_t bytes) const;

  int device_;
  MemoryOf of_;
  std::vector<Block> free_;
  std::vector<Block> used_;
};

}  // namespace shardcheck::gpu
