#include "backends/cuda/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backends/cuda/check.h"
#include "core/assert.h"
#include "core/error.h"

namespace shardcheck::gpu {
namespace {

/// Sizes in steps of a quarter of the power of two below, so that a block fits many requests and wastes at
/// most a fifth.
std::int64_t size_class(std::int64_t bytes) {
  constexpr std::int64_t kSmallest = 4096;
  if (bytes <= kSmallest) return kSmallest;
  const auto step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)) / 4);
  return (bytes + step - 1) / step * step;
}

}  // namespace

Pool::~Pool() {
  // Nobody is left to hear of a failure.
  cudaSetDevice(device_);
  for (const Block& block : free_) unmake(block.data);
  for (const Block& block : used_) unmake(block.data);
}

/// Portable: copies and collectives of other GPUs reach the host's memory too.
cudaError_t Pool::make(std::byte** data, std::int64_t bytes) const {
  const auto size = static_cast<std::size_t>(bytes);
  if (of_ == MemoryOf::device) return cudaMalloc(data, size);
  return cudaHostAlloc(data, size, cudaHostAllocMapped | cudaHostAllocPortable);
}

cudaError_t Pool::unmake(std::byte* data) const {
  return of_ == MemoryOf::device ? cudaFree(data) : cudaFreeHost(data);
}

void Pool::fail(std::int64_t bytes) const {
  if (of_ == MemoryOf::host) {
    throw Error(ErrorKind::machine_cannot,
                fmt::format("cuda: the host gives GPU {} no page-locked buffer of {} bytes", device_, bytes));
  }
  std::size_t available = 0, total = 0;
  SC_CHECK(cudaMemGetInfo(&available, &total));
  throw Error(ErrorKind::machine_cannot,
              fmt::format("cuda: GPU {} is out of memory: a buffer of {} bytes, with {} of {} bytes free",
                          device_, bytes, available, total));
}

Block Pool::acquire(std::int64_t bytes) {
  const std::int64_t size = size_class(bytes);
  const auto fits = [&](const Block& block) { return block.bytes >= size && block.bytes <= 2 * size; };
  auto found = std::find_if(free_.begin(), free_.end(), fits);
  if (found != free_.end()) {
    used_.push_back(*found);
    free_.erase(found);
    return used_.back();
  }
  SC_CHECK(cudaSetDevice(device_));
  std::byte* data = nullptr;
  cudaError_t result = make(&data, size);
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // take the error off the thread: it is handled here
    trim();
    result = make(&data, size);
  }
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    fail(size);
  }
  check(result, of_ == MemoryOf::device ? "cudaMalloc" : "cudaHostAlloc");
  used_.push_back({data, size});
  return used_.back();
}

void Pool::release(Block block) {
  if (block.data == nullptr) return;
  const auto found =
      std::find_if(used_.begin(), used_.end(), [&](const Block& used) { return used.data == block.data; });
  SC_ASSERT(found != used_.end(), "a block is released to a pool that it is not from");
  free_.push_back(*found);
  used_.erase(found);
}

void Pool::trim() {
  SC_CHECK(cudaSetDevice(device_));
  for (const Block& block : free_) SC_CHECK(unmake(block.data));
  free_.clear();
}

}  // namespace shardcheck::gpu
