// Clocks: happens-before between the streams of a rank. A stream knows, of every stream, the last op that it
// has waited for. The ranks of a collective are one op and need no clock between them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/plan/plan.h"

namespace shardcheck {

/// An op among the executed ones, on its stream; -1: before all of them.
struct Moment {
  Stream stream = Stream::compute;
  std::int32_t position = -1;
  bool operator==(const Moment&) const = default;
};

class Clocks {
 public:
  explicit Clocks(const Plan& plan);

  void record(Rank rank, Stream stream, EventId event, std::int32_t position);
  void wait(Rank rank, Stream stream, EventId event);

  /// True when what `stream` of `rank` does next runs after `moment`.
  bool is_after(Rank rank, Stream stream, const Moment& moment) const {
    return moment.stream == stream || moment.position <= seen(rank, stream, moment.stream);
  }

 private:
  using Clock = std::array<std::int32_t, kStreams>;
  std::int32_t seen(Rank rank, Stream stream, Stream of) const {
    return clocks_[static_cast<std::size_t>(rank.value)][static_cast<std::size_t>(stream)]
                  [static_cast<std::size_t>(of)];
  }
  std::size_t slot(Rank rank, EventId event) const {
    return static_cast<std::size_t>(rank.value) * static_cast<std::size_t>(events_) +
           static_cast<std::size_t>(event.value);
  }

  std::int32_t events_ = 0;
  std::vector<std::array<Clock, kStreams>> clocks_;
  std::vector<Clock> event_clocks_;
};

}  // namespace shardcheck
