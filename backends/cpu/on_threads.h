// Work that is cut into pieces, on all cores where it is large: ranks of a real model, stretches of a long
// sum. Invariant: pieces touch nothing of each other's, so that the result does not depend on the number of
// threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>

#include "core/each_on_threads.h"

namespace shardcheck::cpu {

struct Pieces {
  std::int64_t count;
  std::int64_t bytes;  ///< that all of them together touch
};

/// A thread costs some 20 us to start, in which one core writes 200 KB; below this a search with a thread a
/// case has nothing to gain.
inline constexpr std::int64_t kWorthThreads = std::int64_t{16} << 20;

/// Calls body(i) once for every i below pieces.count, in any order. Rethrows the first exception, after all
/// have ended. How many cores there are is asked only where it matters: the answer comes out of a file.
template <class Body>
void on_threads(const Pieces& pieces, Body body) {
  if (pieces.bytes < kWorthThreads) {
    for (std::int64_t i = 0; i < pieces.count; ++i) body(i);
    return;
  }
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  each_on_threads({.pieces = pieces.count, .threads = cores}, body);
}

}  // namespace shardcheck::cpu
