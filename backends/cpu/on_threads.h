// Work that is cut into pieces, on all cores where it is large: ranks of a real model, stretches of a long
// sum. Invariant: pieces touch nothing of each other's, so that the result does not depend on the number of
// threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace shardcheck::cpu {

struct Pieces {
  std::int64_t count;
  std::int64_t bytes;  ///< that all of them together touch
};

/// A thread costs some 20 us to start, in which one core writes 200 KB; below this a search with a thread a
/// case has nothing to gain.
inline constexpr std::int64_t kWorthThreads = std::int64_t{16} << 20;

/// Calls body(i) once for every i below pieces.count, in any order. Rethrows the first exception, after all
/// have ended.
template <class Body>
void on_threads(const Pieces& pieces, Body body) {
  const auto cores = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  const std::int64_t threads = pieces.bytes < kWorthThreads ? 1 : std::min(cores, pieces.count);
  if (threads <= 1) {
    for (std::int64_t i = 0; i < pieces.count; ++i) body(i);
    return;
  }
  std::atomic<std::int64_t> next = 0;
  std::exception_ptr thrown;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::int64_t i = next++; i < pieces.count; i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (std::int64_t t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace shardcheck::cpu
