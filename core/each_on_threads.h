// Numbered pieces of work on a given number of threads. Invariant: pieces touch nothing of each other's, so
// that the result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace shardcheck {

struct ThreadedWork {
  std::int64_t pieces = 0;
  int threads = 1;  ///< at most; no more than pieces are started
};

/// Calls body(i) once for every i below `pieces`, in ascending order on one thread, in any order on several.
/// After an exception no further piece begins, and the first one is rethrown when all have ended.
template <class Body>
void each_on_threads(const ThreadedWork& work, Body body) {
  std::atomic<std::int64_t> next = 0;
  std::atomic<bool> has_failed = false;
  std::exception_ptr thrown;
  std::mutex mutex;
  const auto run = [&] {
    try {
      for (std::int64_t i = next++; i < work.pieces && !has_failed; i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
      has_failed = true;
    }
  };
  const std::int64_t threads = std::min<std::int64_t>(work.threads, work.pieces);
  std::vector<std::thread> others;
  for (std::int64_t t = 1; t < threads; ++t) others.emplace_back(run);
  run();
  for (std::thread& other : others) other.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace shardcheck
