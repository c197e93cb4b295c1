// The events of a plan on real streams. Ranks of one GPU share its streams, so an event is one CUDA event for
// each GPU and stream that it was recorded on; each rank remembers its stream, because a wait means the
// record of its own rank.
#pragma once

#include <map>
#include <optional>
#include <tuple>

#include "backends/cuda/handles.h"
#include "core/plan/op.h"

namespace shardcheck::gpu {

class PlanEvents {
 public:
  /// A plan starts: no event has been recorded.
  void start() { recorded_on_.clear(); }

  /// A CUDA stream of a GPU (the current one) and which of the plan's it is.
  struct Queue {
    int gpu;
    Stream which;
    cudaStream_t stream;
  };
  /// For the ranks of one op on one GPU: record_on once, then recorded for each rank.
  void record_on(const Queue& queue, EventId event) {
    OwnedEvent& owned = events_[{queue.gpu, queue.which, event.value}];
    if (owned == nullptr) owned = make_event();
    SC_CHECK(cudaEventRecord(owned.get(), queue.stream));
  }
  void recorded(Rank rank, Stream on, EventId event) { recorded_on_[{rank.value, event.value}] = on; }

  /// The stream whose record of the event `rank` waits for on `queue`; nothing when it never recorded it, or
  /// did so on this very stream.
  std::optional<Stream> awaited(const Queue& queue, Rank rank, EventId event) const {
    const auto found = recorded_on_.find({rank.value, event.value});
    if (found == recorded_on_.end() || found->second == queue.which) return std::nullopt;
    return found->second;
  }
  /// The queue waits for the event as it was recorded on another stream of its GPU.
  void wait(const Queue& queue, Stream recorded_on, EventId event) const {
    const auto owned = events_.find({queue.gpu, recorded_on, event.value});
    if (owned != events_.end()) SC_CHECK(cudaStreamWaitEvent(queue.stream, owned->second.get(), 0));
  }

 private:
  std::map<std::tuple<int, Stream, std::int32_t>, OwnedEvent> events_;
  std::map<std::tuple<std::int32_t, std::int32_t>, Stream> recorded_on_;
};

}  // namespace shardcheck::gpu
