// The watchdog calls once when it is too late, and never when the caller left in time.
#include "backends/cuda/watchdog.h"

#include <gtest/gtest.h>

#include <future>

namespace shardcheck::gpu {
namespace {

TEST(Watchdog, CallsWhoStaysTooLong) {
  Watchdog watchdog(std::chrono::milliseconds(5));
  std::promise<std::thread::id> called;
  watchdog.enter([&] { called.set_value(std::this_thread::get_id()); });  // a second call would throw
  EXPECT_NE(called.get_future().get(), std::this_thread::get_id());
  EXPECT_TRUE(watchdog.leave());
}

TEST(Watchdog, LeavesAloneWhoLeavesInTime) {
  Watchdog watchdog(std::chrono::hours(1));
  int calls = 0;
  for (int i = 0; i < 1000; ++i) {
    watchdog.enter([&] { ++calls; });
    EXPECT_FALSE(watchdog.leave());
  }
  EXPECT_EQ(calls, 0);
}

TEST(Watchdog, WatchesAgainAfterItCalled) {
  Watchdog watchdog(std::chrono::milliseconds(2));
  for (int i = 0; i < 3; ++i) {
    std::promise<void> called;
    watchdog.enter([&] { called.set_value(); });
    called.get_future().wait();
    EXPECT_TRUE(watchdog.leave());
  }
}

}  // namespace
}  // namespace shardcheck::gpu
