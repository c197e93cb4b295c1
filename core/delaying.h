// Delaying: what a backend may also be when its streams really run at once. It can hold one of them back, so
// that ops of the others overtake, and a race that goes right by luck goes wrong. Next: properties/delays.h
// does so for every race of a plan.
#pragma once

#include <chrono>
#include <optional>

#include "core/backend.h"

namespace shardcheck {

/// The stream of op `before` stands still for `length` in front of that op, on the machine that runs `rank`.
/// Ranks that share a machine share its streams, so they are late together.
struct Delay {
  OpIndex before;
  Rank rank;
  std::chrono::microseconds length{0};
};

/// Found by dynamic_cast.
class Delaying {
 public:
  virtual ~Delaying() = default;

  /// Executions are held back so, from now on until the next call. While there is a delay, of whatever
  /// length, read() comes after the rank's compute stream alone, as a consumer of gradients does; without one
  /// it comes after all streams, which would hide a consumer that forgets to wait.
  virtual void hold_back(const std::optional<Delay>& delay) = 0;
};

}  // namespace shardcheck
