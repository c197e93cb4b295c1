#include "core/plan/schedule.h"

#include <array>

namespace shardcheck {
namespace {

/// What has to wait for an op that is put off.
class PutOff {
 public:
  explicit PutOff(const Plan& plan)
      : plan_(plan),
        streams_(static_cast<std::size_t>(plan.ranks)),
        events_(static_cast<std::size_t>(plan.ranks) * static_cast<std::size_t>(plan.events)) {}

  /// True when the op must follow something that was put off.
  bool holds(const Op& op) {
    const auto* wait = std::get_if<Wait>(&op.action);
    for (Rank rank : plan_.ranks_of(op)) {
      if (stream_of(rank, op)) return true;
      if (wait != nullptr && event_of(rank, wait->event)) return true;
    }
    return false;
  }
  void add(const Op& op) {
    const auto* record = std::get_if<Record>(&op.action);
    for (Rank rank : plan_.ranks_of(op)) {
      stream_of(rank, op) = 1;
      if (record != nullptr) event_of(rank, record->event) = 1;
    }
  }

 private:
  char& stream_of(Rank rank, const Op& op) {
    return streams_[static_cast<std::size_t>(rank.value)][static_cast<std::size_t>(op.stream)];
  }
  char& event_of(Rank rank, EventId event) {
    return events_[static_cast<std::size_t>(rank.value) * static_cast<std::size_t>(plan_.events) +
                   static_cast<std::size_t>(event.value)];
  }

  const Plan& plan_;
  std::vector<std::array<char, kStreams>> streams_;  // a rank
  std::vector<char> events_;                         // a rank, an event
};

}  // namespace

std::optional<std::vector<OpIndex>> schedule_against(const Plan& plan, const Race& race) {
  std::vector<OpIndex> order, later;
  order.reserve(plan.ops.size());
  PutOff put_off(plan);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan.ops.size()); ++i) {
    const Op& op = plan.ops[static_cast<std::size_t>(i)];
    const bool waits =
        i == race.first.value || (i > race.first.value && i <= race.second.value && put_off.holds(op));
    if (waits && i == race.second.value) return std::nullopt;
    if (waits) put_off.add(op);
    (waits ? later : order).push_back(OpIndex{i});
    if (i == race.second.value) order.insert(order.end(), later.begin(), later.end());
  }
  return order;
}

}  // namespace shardcheck
