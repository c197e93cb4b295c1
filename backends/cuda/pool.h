// Pool: device memory of one GPU. Blocks come from plain cudaMalloc and go back to the pool, not to the
// driver, so that thousands of small plans allocate only at first. Invariant: a block is released only when
// no work in flight uses it (the caller has waited).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardcheck::gpu {

/// Device memory, aligned to 256 bytes.
struct Block {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

class Pool {
 public:
  explicit Pool(int device) : device_(device) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// At least `bytes`. Error(machine_cannot) when the GPU has no such room, even after trim().
  Block acquire(std::int64_t bytes);
  void release(Block block);
  /// Gives what nobody uses back to the driver.
  void trim();

 private:
  int device_;
  std::vector<Block> free_;
  std::vector<Block> used_;
};

}  // namespace shardcheck::gpu
