// DeviceDigests: digests of many ranges on any GPUs, a launch for those of one GPU and type. Next: digest.h,
// the kernel; core/digest.h, the definition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/cuda/memory.h"

namespace shardcheck::gpu {

class DeviceDigests {
 public:
  explicit DeviceDigests(Machine& machine)
      : machine_(machine), sums_(static_cast<std::size_t>(machine.gpus())) {}

  /// The digest of every range, after all ops so far.
  std::vector<std::uint64_t> of(std::span<const Range> ranges);

 private:
  std::vector<std::size_t> on_gpu(int gpu, std::span<const Range> ranges) const;
  void enqueue(int gpu, std::span<const Range> ranges, std::span<const std::size_t> positions);

  Machine& machine_;
  std::vector<Block> sums_;  ///< on each GPU, a word for each of its ranges; grows
};

}  // namespace shardcheck::gpu
