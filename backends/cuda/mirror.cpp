#include "backends/cuda/mirror.h"

#include <algorithm>

#include "core/integers.h"

namespace shardcheck::gpu {
namespace {

constexpr std::int64_t kRoom = std::int64_t{1} << 20;
/// Above this the bytes that nobody may ask for cost more than a second copy.
constexpr std::int64_t kLargest = std::int64_t{64} << 10;

}  // namespace

const std::byte* Mirror::find(const Range& range, const SlabPart& slab, Gpu& gpu) {
  if (slab.rows == 0 || slab.pitch * slab.rows > kLargest) return nullptr;
  const auto known = std::find_if(fetched_.begin(), fetched_.end(),
                                  [&](const Fetched& each) { return each.device == slab.data; });
  const std::int64_t at = known != fetched_.end() ? known->at : fetch(slab, gpu);
  return memory_.get() + at + (range.data - slab.data);
}

/// Rows are fetched without what lies between them, which nobody wrote.
std::int64_t Mirror::fetch(const SlabPart& slab, Gpu& gpu) {
  if (memory_ == nullptr) {
    void* made = nullptr;
    SC_CHECK(cudaHostAlloc(&made, static_cast<std::size_t>(kRoom), cudaHostAllocDefault));
    memory_.reset(static_cast<std::byte*>(made));
  }
  const std::int64_t size = slab.pitch * slab.rows;
  if (used_ + size > kRoom) forget();
  const std::int64_t at = used_;
  const auto pitch = static_cast<std::size_t>(slab.pitch);
  SC_CHECK(cudaMemcpy2DAsync(memory_.get() + at, pitch, slab.data, pitch,
                             static_cast<std::size_t>(slab.width), static_cast<std::size_t>(slab.rows),
                             cudaMemcpyDefault, gpu.begin_host_work()));
  gpu.await();
  used_ += round_up(size, std::int64_t{64});
  fetched_.push_back({slab.data, at});
  return at;
}

}  // namespace shardcheck::gpu
