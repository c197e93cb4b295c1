#include "tools/shardcheck/trace_events.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

namespace shardcheck {
namespace {

using nlohmann::ordered_json;

constexpr double kMicroseconds = 1e6;

class Writer {
 public:
  Writer(const Plan& plan, std::span<const cost::Span> timeline) : plan_(plan) {
    for (const cost::Span& span : timeline) at_[{span.op.value, span.rank.value}] = span;
  }

  void name_tracks() {
    for (std::int32_t rank = 0; rank < ranks(); ++rank) {
      events_.push_back({{"ph", "M"},
                         {"name", "process_name"},
                         {"pid", rank},
                         {"args", {{"name", "rank " + std::to_string(rank)}}}});
      for (int stream = 0; stream < kStreams; ++stream)
        events_.push_back({{"ph", "M"},
                           {"name", "thread_name"},
                           {"pid", rank},
                           {"tid", stream},
                           {"args", {{"name", name_of(static_cast<Stream>(stream))}}}});
    }
  }

  void slices() {
    for (const auto& [key, span] : at_) {
      if (key.second >= ranks()) continue;
      const Op& op = op_at(span.op.value);
      ordered_json slice = track(span, op);
      slice["ph"] = "X";
      slice["name"] = verb_of(describe(plan_, op));
      slice["ts"] = span.begin * kMicroseconds;
      slice["dur"] = (span.end - span.begin) * kMicroseconds;
      slice["args"] = {
          {"op", span.op.value}, {"what", describe(plan_, op)}, {"purpose", name_of(op.why.purpose)}};
      events_.push_back(std::move(slice));
    }
  }

  /// From the last op before an event's record to the first op behind its wait.
  void waits() {
    struct Waiting {
      std::optional<std::int32_t> last;   // op on the stream
      std::vector<std::int32_t> pending;  // ops that the next one waits for
    };
    std::map<std::pair<std::int32_t, int>, Waiting> streams;
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> recorded;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan_.ops.size()); ++i) {
      const Op& op = op_at(i);
      for (Rank rank : plan_.ranks_of(op)) {
        if (rank.value >= ranks()) continue;
        Waiting& stream = streams[{rank.value, static_cast<int>(op.stream)}];
        if (const auto* record = std::get_if<Record>(&op.action)) {
          if (stream.last) recorded[{rank.value, record->event.value}] = *stream.last;
        } else if (const auto* wait = std::get_if<Wait>(&op.action)) {
          const auto found = recorded.find({rank.value, wait->event.value});
          if (found != recorded.end()) stream.pending.push_back(found->second);
        } else if (at_.contains({i, rank.value})) {
          for (std::int32_t from : stream.pending) arrow(from, i, rank.value, "waits for");
          stream.pending.clear();
          stream.last = i;
        }
      }
    }
  }

  void races(std::span<const Race> all) {
    for (const Race& race : all) {
      if (race.rank.value >= ranks()) continue;
      arrow(race.first.value, race.second.value, race.rank.value, "RACE: nothing orders these two");
    }
  }

  std::string text() const {
    return ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", events_}}.dump() + "\n";
  }

 private:
  std::int32_t ranks() const { return std::min(plan_.ranks, kMostRanksInTrace); }
  const Op& op_at(std::int32_t index) const { return plan_.ops[static_cast<std::size_t>(index)]; }
  static std::string verb_of(const std::string& text) { return text.substr(0, text.find(" (")); }
  static ordered_json track(const cost::Span& span, const Op& op) {
    return {{"pid", span.rank.value}, {"tid", static_cast<int>(op.stream)}};
  }
  void arrow(std::int32_t from, std::int32_t to, std::int32_t rank, const char* name) {
    const auto first = at_.find({from, rank}), second = at_.find({to, rank});
    if (first == at_.end() || second == at_.end()) return;
    const auto end = [&](const cost::Span& span, const char* phase, double at) {
      ordered_json event = track(span, op_at(span.op.value));
      event["ph"] = phase;
      event["id"] = arrows_;
      event["name"] = name;
      event["cat"] = "order";
      event["ts"] = at * kMicroseconds;
      if (*phase == 'f') event["bp"] = "e";
      events_.push_back(std::move(event));
    };
    end(first->second, "s", (first->second.begin + first->second.end) / 2);
    end(second->second, "f", (second->second.begin + second->second.end) / 2);
    ++arrows_;
  }

  const Plan& plan_;
  std::map<std::pair<std::int32_t, std::int32_t>, cost::Span> at_;  // an op, a rank
  ordered_json events_ = ordered_json::array();
  int arrows_ = 0;
};

}  // namespace

std::string trace_events(const Plan& plan, std::span<const cost::Span> timeline,
                         std::span<const Race> races) {
  std::set<OpIndex> racing;
  for (const Race& race : races) racing.insert({race.first, race.second});
  std::vector<cost::Span> spans(timeline.begin(), timeline.end());
  cost::add_instants(plan, racing, spans);
  Writer writer(plan, spans);
  writer.name_tracks();
  writer.slices();
  writer.waits();
  writer.races(races);
  return writer.text();
}

}  // namespace shardcheck
