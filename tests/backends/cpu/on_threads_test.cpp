// Pieces on threads: each runs once, small work stays on the caller's thread, exceptions arrive.
#include "backends/cpu/on_threads.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace shardcheck::cpu {
namespace {

TEST(OnThreads, EveryPieceRunsOnce) {
  for (std::int64_t bytes : {std::int64_t{1}, kWorthThreads}) {
    for (std::int64_t count : {0, 1, 3, 1000}) {
      std::vector<int> runs(static_cast<std::size_t>(count));
      on_threads({count, bytes}, [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
      EXPECT_EQ(std::count(runs.begin(), runs.end(), 1), count) << bytes;
    }
  }
}

TEST(OnThreads, SmallWorkStaysHere) {
  on_threads({100, kWorthThreads - 1}, [here = std::this_thread::get_id()](std::int64_t) {
    ASSERT_EQ(std::this_thread::get_id(), here);
  });
}

TEST(OnThreads, AnExceptionArrives) {
  const auto run = [] {
    on_threads({50, kWorthThreads}, [](std::int64_t i) {
      if (i == 7) throw std::runtime_error("piece 7");
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
}

}  // namespace
}  // namespace shardcheck::cpu
