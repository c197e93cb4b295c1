// Traffic of a reshard: how many bytes stay on their rank and how many cross to another, when a model moves
// between two layouts or two worlds (L16, L17). Counted copy by copy along ReshardCursor. Next:
// reshard.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/ownership.h"

namespace shardcheck::layout {

/// Bytes of one tensor or of many; every replica of the target is counted.
struct Traffic {
  std::int64_t copies = 0;    ///< contiguous on both sides
  std::int64_t staying = 0;   ///< bytes whose rank is the same before and after
  std::int64_t crossing = 0;  ///< bytes that go to another rank
  bool operator==(const Traffic&) const = default;
};

/// Bytes that each rank sends to and receives from others.
struct RankTraffic {
  std::int64_t sent = 0, received = 0;
};

struct TrafficReport {
  Traffic total;
  std::vector<Traffic> parameters;  ///< parallel to the parameters; zero where one side does not hold it
  std::vector<RankTraffic> ranks;   ///< as many as the larger world
  std::int64_t left_out = 0;        ///< parameters that one side does not hold
};

/// Ranks are compared by their number in the group of their buffer. Reads from replica 0, as ReshardCursor.
TrafficReport traffic_between(const Ownership& from, const Ownership& to,
                              std::span<const Parameter> parameters);

}  // namespace shardcheck::layout
