// Watchdog: calls a function when somebody stays too long in a call that cannot be given a deadline, such as
// a blocking one of NCCL. Its thread looks a few times within the limit, so that entering and leaving cost no
// more than a lock that nobody holds. Next: communicators.h.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace shardcheck::gpu {

class Watchdog {
 public:
  explicit Watchdog(std::chrono::milliseconds limit) : limit_(limit), thread_([this] { watch(); }) {}
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// From now on until leave(), `too_late` is called once, from another thread, when the limit has passed.
  /// Not to be entered twice.
  void enter(std::function<void()> too_late);
  /// True when it was too late. After this, `too_late` is neither running nor called.
  bool leave();

 private:
  using Clock = std::chrono::steady_clock;
  void watch();

  std::chrono::milliseconds limit_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_over_ = false, was_late_ = false;
  std::optional<Clock::time_point> deadline_;  ///< nothing: nobody is inside, or it was too late already
  std::function<void()> too_late_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace shardcheck::gpu
