#include "backends/cuda/watchdog.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"

namespace shardcheck::gpu {

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ends_.notify_one();
  thread_.join();
}

void Watchdog::enter(std::function<void()> too_late) {
  const std::lock_guard lock(mutex_);
  SC_ASSERT(!too_late_, "the watchdog watches one call at a time");
  too_late_ = std::move(too_late);
  was_late_ = false;
  deadline_ = Clock::now() + limit_;
}

bool Watchdog::leave() {
  const std::lock_guard lock(mutex_);
  deadline_.reset();
  too_late_ = nullptr;
  return was_late_;
}

void Watchdog::watch() {
  constexpr int kLooks = 8;  // within the limit: a call is caught late by an eighth at most
  const auto pause = std::max(limit_ / kLooks, std::chrono::milliseconds(1));
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, pause, [this] { return is_over_; })) {
    if (!deadline_ || Clock::now() < *deadline_) continue;
    deadline_.reset();
    was_late_ = true;
    too_late_();
  }
}

}  // namespace shardcheck::gpu
