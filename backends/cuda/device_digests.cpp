#include "backends/cuda/device_digests.h"

#include <algorithm>

#include "backends/cuda/digest.h"
#include "core/digest.h"

namespace shardcheck::gpu {
namespace {

std::int64_t bytes_for(std::span<const std::size_t> positions) {
  return std::ssize(positions) * static_cast<std::int64_t>(sizeof(std::uint64_t));
}

}  // namespace

/// Positions of the ranges on one GPU, those of one type together.
std::vector<std::size_t> DeviceDigests::on_gpu(int gpu, std::span<const Range> ranges) const {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].gpu == gpu) positions.push_back(i);
  }
  std::ranges::stable_sort(positions, {}, [&](std::size_t i) { return ranges[i].dtype; });
  return positions;
}

void DeviceDigests::enqueue(int gpu, std::span<const Range> ranges, std::span<const std::size_t> positions) {
  Block& sums = sums_[static_cast<std::size_t>(gpu)];
  Gpu& there = machine_.gpu(gpu);
  const std::int64_t needed = bytes_for(positions);
  if (sums.bytes < needed) {
    there.await();
    there.pool().release(sums);
    sums = {};
    sums = there.pool().acquire(needed);
  }
  const cudaStream_t stream = there.begin_host_work();
  auto* const words = reinterpret_cast<std::uint64_t*>(sums.data);
  SC_CHECK(cudaMemsetAsync(words, 0, static_cast<std::size_t>(needed), stream));
  DigestTable table{};
  for (std::size_t n = 0; n < positions.size(); ++n) {
    const Range& range = ranges[positions[n]];
    table.source[table.ranges] = range.data;
    table.bytes[table.ranges] = range.bytes();
    ++table.ranges;
    const bool is_last = n + 1 == positions.size() || ranges[positions[n + 1]].dtype != range.dtype;
    if (!is_last && table.ranges < kRanksPerLaunch) continue;
    launch_digests(table, range.dtype, words + (static_cast<std::int64_t>(n) + 1 - table.ranges), stream);
    table = {};
  }
}

std::vector<std::uint64_t> DeviceDigests::of(std::span<const Range> ranges) {
  std::vector<std::vector<std::size_t>> positions;
  for (int gpu = 0; gpu < machine_.gpus(); ++gpu) {
    positions.push_back(on_gpu(gpu, ranges));
    if (!positions.back().empty()) enqueue(gpu, ranges, positions.back());
  }
  std::vector<std::uint64_t> digests(ranges.size()), words;
  for (int gpu = 0; gpu < machine_.gpus(); ++gpu) {
    const auto& mine = positions[static_cast<std::size_t>(gpu)];
    if (mine.empty()) continue;
    machine_.gpu(gpu).await();
    words.resize(mine.size());
    const cudaStream_t stream = machine_.gpu(gpu).begin_host_work();
    SC_CHECK(cudaMemcpyAsync(words.data(), sums_[static_cast<std::size_t>(gpu)].data,
                             static_cast<std::size_t>(bytes_for(mine)), cudaMemcpyDeviceToHost, stream));
    SC_CHECK(cudaStreamSynchronize(stream));
    for (std::size_t n = 0; n < mine.size(); ++n) {
      const auto numel = static_cast<std::uint64_t>(ranges[mine[n]].numel);
      digests[mine[n]] = words[n] + digest_term(numel, -1);
    }
  }
  return digests;
}

}  // namespace shardcheck::gpu
