#include "core/plan/symmetry.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/plan/communicators.h"

namespace shardcheck {
namespace {

const Op& op_at(const Plan& plan, std::int32_t index) {
  return plan.ops[static_cast<std::size_t>(index)];
}

/// Runs the streams of all ranks as far as they get.
class Run {
 public:
  Run(const Plan& plan, const Communicators& communicators)
      : plan_(plan),
        communicators_(communicators),
        queues_(static_cast<std::size_t>(plan.ranks) * kStreams),
        done_(communicators.all().size()),
        recorded_(static_cast<std::size_t>(plan.ranks) * static_cast<std::size_t>(plan.events)) {
    for (const Communicator& each : communicators.all())
      arrived_.emplace_back(each.ranks.size(), std::int32_t{-1});
    arrivals_.resize(arrived_.size());
  }

  /// The host's order: fills the queues. Calls must come in the order of the plan.
  void call(std::int32_t id, Rank rank, std::int32_t op, std::int64_t position) {
    queue(rank.value, op_at(plan_, op).stream).items.push_back({Item::Kind::call, op, id, position});
  }
  void record(const Op& op, EventId event) {
    for (Rank rank : plan_.ranks_of(op))
      mark(rank, event) = {op.stream, std::ssize(queue(rank.value, op.stream).items)};
  }
  void wait(const Op& op, std::int32_t index, EventId event) {
    for (Rank rank : plan_.ranks_of(op)) {
      const Mark& recorded = mark(rank, event);
      if (recorded.stream == op.stream || recorded.passed == 0)
        continue;  // never recorded, or nothing before
      queue(rank.value, op.stream)
          .items.push_back(
              {Item::Kind::wait, index, static_cast<std::int32_t>(recorded.stream), recorded.passed});
    }
  }

  void go() {
    for (std::int32_t rank = 0; rank < plan_.ranks; ++rank) look_at(rank);
    while (!looks_.empty()) {
      const auto place = static_cast<std::size_t>(looks_.back());
      looks_.pop_back();
      queues_[place].is_looked_at = false;
      while (passes(static_cast<std::int32_t>(place))) ++queues_[place].head;
    }
  }

  std::vector<Stuck> stuck() const {
    std::vector<Stuck> all;
    for (std::size_t place = 0; place < queues_.size(); ++place) {
      if (queues_[place].is_at_end()) continue;
      all.push_back(stuck_at(static_cast<std::int32_t>(place)));
    }
    return all;
  }
  /// From a stuck stream on to the one that it waits for, until one comes again.
  std::vector<Stuck> cycle(const Stuck& from) const {
    std::vector<std::int32_t> path, seen_at(queues_.size(), -1);
    std::int32_t place = place_of(from.rank.value, from.stream);
    while (seen_at[static_cast<std::size_t>(place)] < 0) {
      seen_at[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(path.size());
      path.push_back(place);
      place = waits_for(place);
    }
    std::vector<Stuck> cycle;
    for (auto i = static_cast<std::size_t>(seen_at[static_cast<std::size_t>(place)]); i < path.size(); ++i)
      cycle.push_back(stuck_at(path[i]));
    return cycle;
  }

 private:
  struct Item {
    enum class Kind : std::uint8_t { call, wait } kind;
    std::int32_t op;
    std::int32_t of;     ///< a call: its communicator; a wait: the stream that was recorded
    std::int64_t until;  ///< a call: its number there; a wait: how many items that stream must have passed
  };
  struct Queue {
    std::vector<Item> items;
    std::size_t head = 0;
    bool is_looked_at = false;  ///< is on the list of those to look at
    bool is_at_end() const { return head == items.size(); }
  };
  struct Mark {
    Stream stream{};
    std::int64_t passed = 0;
  };

  Mark& mark(Rank rank, EventId event) {
    return recorded_[static_cast<std::size_t>(rank.value) * static_cast<std::size_t>(plan_.events) +
                     static_cast<std::size_t>(event.value)];
  }
  static std::int32_t place_of(std::int32_t rank, Stream stream) {
    return rank * kStreams + static_cast<std::int32_t>(stream);
  }
  Queue& queue(std::int32_t rank, Stream stream) {
    return queues_[static_cast<std::size_t>(place_of(rank, stream))];
  }
  Stuck stuck_at(std::int32_t place) const {
    const Queue& queue = queues_[static_cast<std::size_t>(place)];
    return {Rank{place / kStreams}, static_cast<Stream>(place % kStreams),
            OpIndex{queue.items[queue.head].op}};
  }
  void look_at(std::int32_t rank) {
    for (std::int32_t place = rank * kStreams; place < (rank + 1) * kStreams; ++place) {
      Queue& queue = queues_[static_cast<std::size_t>(place)];
      if (queue.is_looked_at) continue;
      queue.is_looked_at = true;
      looks_.push_back(place);
    }
  }

  /// True when the stream gets past its next item by itself. The last rank that comes to a call takes all of
  /// them past it.
  bool passes(std::int32_t place) {
    const Queue& queue = queues_[static_cast<std::size_t>(place)];
    if (queue.is_at_end()) return false;
    const Item& item = queue.items[queue.head];
    if (item.kind == Item::Kind::wait) {
      const bool ready = has_passed(place / kStreams, item);
      if (ready) look_at(place / kStreams);
      return ready;
    }
    arrive(place, item);
    return false;
  }
  bool has_passed(std::int32_t rank, const Item& wait) const {
    const auto other = static_cast<std::size_t>(rank * kStreams + wait.of);
    return std::cmp_greater_equal(queues_[other].head, wait.until);
  }
  void arrive(std::int32_t place, const Item& call) {
    const Communicator& communicator = communicators_.at(call.of);
    const auto of = static_cast<std::size_t>(call.of);
    if (call.until >= communicator.hangs_at || done_[of] != call.until) return;
    std::int32_t& here = arrived_[of][static_cast<std::size_t>(
        communicator.number_of[static_cast<std::size_t>(place / kStreams)])];
    if (here >= 0) return;
    here = place;
    if (++arrivals_[of] < std::ssize(communicator.ranks)) return;
    ++done_[of];
    arrivals_[of] = 0;
    for (std::int32_t& member : arrived_[of]) {
      ++queues_[static_cast<std::size_t>(member)].head;
      look_at(member / kStreams);
      member = -1;
    }
  }

  /// The stream that must move on first; every call has its peers here.
  std::int32_t waits_for(std::int32_t place) const {
    const Queue& queue = queues_[static_cast<std::size_t>(place)];
    const Item& item = queue.items[queue.head];
    const std::int32_t rank = place / kStreams;
    if (item.kind == Item::Kind::wait) return rank * kStreams + item.of;
    const Communicator& communicator = communicators_.at(item.of);
    const auto of = static_cast<std::size_t>(item.of);
    const auto next = static_cast<std::size_t>(done_[of]);
    for (std::size_t i = 0; i < communicator.ranks.size(); ++i) {
      const bool is_early = std::cmp_less(next, item.until);
      const bool is_it = is_early ? communicator.ranks[i].value == rank : arrived_[of][i] < 0;
      if (is_it)
        return place_of(communicator.ranks[i].value, op_at(plan_, communicator.calls[i][next].op).stream);
    }
    SC_ASSERT(false, "a stream is stuck in a call that all have come to");
    return place;
  }

  const Plan& plan_;
  const Communicators& communicators_;
  std::vector<Queue> queues_;                       // a rank, a stream
  std::vector<std::int64_t> done_;                  // a communicator: calls that are complete
  std::vector<std::vector<std::int32_t>> arrived_;  // a communicator, a rank of it: the stream that has come
  std::vector<std::int64_t> arrivals_;
  std::vector<Mark> recorded_;  // a rank, an event
  std::vector<std::int32_t> looks_;
};

}  // namespace

Symmetry symmetry_of(const Plan& plan) {
  Symmetry symmetry;
  Communicators communicators(plan);
  if (!communicators.are_any_listed()) return symmetry;
  symmetry.mismatches = communicators.mismatches();

  Run run(plan, communicators);
  std::vector<std::vector<std::int64_t>> called;
  for (const Communicator& each : communicators.all()) called.emplace_back(each.ranks.size());
  for (std::int32_t i = 0; i < std::ssize(plan.ops); ++i) {
    const Op& op = op_at(plan, i);
    if (const auto* record = std::get_if<Record>(&op.action)) run.record(op, record->event);
    if (const auto* wait = std::get_if<Wait>(&op.action)) run.wait(op, i, wait->event);
    communicators.each_call(i, [&](std::int32_t id, Rank rank, const Call& call) {
      const std::size_t number = communicators.at(id).number(rank);
      run.call(id, rank, call.op, called[static_cast<std::size_t>(id)][number]++);
    });
  }
  run.go();
  symmetry.stuck = run.stuck();
  const bool hangs = std::ranges::any_of(symmetry.mismatches,
                                         [](const Mismatch& each) { return each.meeting == Meeting::hang; });
  if (!symmetry.stuck.empty() && !hangs) symmetry.cycle = run.cycle(symmetry.stuck.front());
  return symmetry;
}

}  // namespace shardcheck
