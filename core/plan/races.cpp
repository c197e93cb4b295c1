#include "core/plan/races.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "core/assert.h"
#include "core/plan/recent_views.h"

namespace shardcheck {
namespace {

constexpr std::int32_t kNever = -1;

/// An op of every stream.
using PerStream = std::array<std::int32_t, kStreams>;

/// Calls visit(operand, i, view) for every operand that counts, on every rank of the op.
template <class Visit>
void each_view(const Plan& plan, const Op& op, Access access, Visit visit) {
  const std::uint8_t either = access.reads | access.writes;
  for (int operand = 0; operand < op.operands; ++operand) {
    if ((either >> operand & 1) == 0) continue;
    const auto views = plan.operand(op, operand);
    for (std::size_t i = 0; i < views.size(); ++i) visit(operand, i, views[i]);
  }
}

/// Ranges that no view cuts, of the buffers that more than one stream touches.
class Atoms {
 public:
  explicit Atoms(const Plan& plan) : borders_(plan.buffers.size()), begins_(plan.buffers.size(), -1) {
    std::vector<std::uint8_t> streams(plan.buffers.size());
    const auto each = [&](auto visit) {
      for (const Op& op : plan.ops) {
        each_view(plan, op, ordered_access(op.action), [&](int, std::size_t, const View& view) {
          if (view.numel > 0) visit(op, view, static_cast<std::size_t>(view.buffer.value));
        });
      }
    };
    each([&](const Op& op, const View&, std::size_t buffer) {
      streams[buffer] |= static_cast<std::uint8_t>(1 << static_cast<int>(op.stream));
    });
    RecentViews recent;
    each([&](const Op&, const View& view, std::size_t buffer) {
      if ((streams[buffer] & (streams[buffer] - 1)) == 0 || recent.meets_again(view)) return;
      borders_[buffer].push_back(view.offset);
      borders_[buffer].push_back(view.offset + view.numel);
      if (borders_[buffer].size() > tidied_at_) tidy(borders_[buffer]);
    });
    for (std::size_t buffer = 0; buffer < borders_.size(); ++buffer) {
      if (borders_[buffer].empty()) continue;
      tidy(borders_[buffer]);
      begins_[buffer] = count_;
      count_ += static_cast<std::int32_t>(borders_[buffer].size()) - 1;
    }
  }

  std::int32_t count() const { return count_; }
  /// Half-open range of atoms; empty for what cannot race.
  std::pair<std::int32_t, std::int32_t> of(const View& view) const {
    const auto buffer = static_cast<std::size_t>(view.buffer.value);
    if (begins_[buffer] < 0 || view.numel == 0) return {0, 0};
    const std::vector<std::int64_t>& borders = borders_[buffer];
    const auto first = std::ranges::lower_bound(borders, view.offset);
    auto last = first;  // whoever asks goes over them anyway
    while (*last < view.offset + view.numel) ++last;
    return {begins_[buffer] + static_cast<std::int32_t>(first - borders.begin()),
            begins_[buffer] + static_cast<std::int32_t>(last - borders.begin())};
  }
  View view_of(BufferId buffer, std::int32_t atom) const {
    const std::vector<std::int64_t>& borders = borders_[static_cast<std::size_t>(buffer.value)];
    const auto at = static_cast<std::size_t>(atom - begins_[static_cast<std::size_t>(buffer.value)]);
    return {buffer, borders[at], borders[at + 1] - borders[at]};
  }

 private:
  void tidy(std::vector<std::int64_t>& borders) {
    std::ranges::sort(borders);
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    tidied_at_ = std::max(tidied_at_, 2 * borders.size());
  }

  std::vector<std::vector<std::int64_t>> borders_;  // a buffer
  std::vector<std::int32_t> begins_;                // a buffer: its first atom, -1 where none is tracked
  std::int32_t count_ = 0;
  std::size_t tidied_at_ = 1024;
};

/// Which op of which stream each stream has waited for: of its own rank, or of all ranks.
class Clocks {
 public:
  Clocks(const Plan& plan, bool across_ranks)
      : events_(plan.events),
        across_(across_ranks),
        width_(static_cast<std::size_t>((across_ranks ? plan.ranks : 1) * kStreams)),
        now_(static_cast<std::size_t>(plan.ranks * kStreams) * width_, kNever),
        recorded_(static_cast<std::size_t>(plan.ranks) * static_cast<std::size_t>(plan.events) * width_,
                  kNever) {}

  /// The last op of every stream of `rank` that is known to precede what `stream` does next there; of the
  /// stream itself, everything.
  PerStream seen(Rank rank, Stream stream) const {
    PerStream seen;
    const auto first =
        now_.begin() + static_cast<std::ptrdiff_t>(place(rank, stream) + own(rank, static_cast<Stream>(0)));
    std::copy_n(first, kStreams, seen.begin());
    seen[static_cast<std::size_t>(stream)] = std::numeric_limits<std::int32_t>::max();
    return seen;
  }
  void record(Rank rank, Stream stream, EventId event, std::int32_t op) {
    std::int32_t* slot = recorded(rank, event);
    std::copy_n(at(rank, stream), width_, slot);
    slot[own(rank, stream)] = op;
  }
  void wait(Rank rank, Stream stream, EventId event) { join(at(rank, stream), recorded(rank, event)); }
  void meet(std::span<const Rank> group, Stream stream, std::int32_t op) {
    if (!across_ || group.size() < 2) return;
    std::vector<std::int32_t> all(width_, kNever);
    for (Rank rank : group) {
      at(rank, stream)[own(rank, stream)] = op - 1;  // a peer knows that it has begun, not that it has ended
      join(all.data(), at(rank, stream));
    }
    for (Rank rank : group) std::ranges::copy(all, at(rank, stream));
  }

 private:
  std::size_t own(Rank rank, Stream stream) const {
    return static_cast<std::size_t>((across_ ? rank.value * kStreams : 0) + static_cast<int>(stream));
  }
  std::size_t place(Rank rank, Stream stream) const {
    return static_cast<std::size_t>(rank.value * kStreams + static_cast<int>(stream)) * width_;
  }
  std::int32_t* at(Rank rank, Stream stream) { return now_.data() + place(rank, stream); }
  std::int32_t* recorded(Rank rank, EventId event) {
    const auto first = static_cast<std::size_t>(rank.value) * static_cast<std::size_t>(events_);
    return recorded_.data() + (first + static_cast<std::size_t>(event.value)) * width_;
  }
  void join(std::int32_t* into, const std::int32_t* other) const {
    for (std::size_t i = 0; i < width_; ++i) into[i] = std::max(into[i], other[i]);
  }

  std::int32_t events_;
  bool across_;
  std::size_t width_;
  std::vector<std::int32_t> now_;
  std::vector<std::int32_t> recorded_;  // a rank, an event
};

/// The last op of every stream that wrote or read an atom on a rank.
struct Cell {
  PerStream written, read;
  Cell() {
    written.fill(kNever);
    read.fill(kNever);
  }
};

class Search {
 public:
  Search(const Plan& plan, const Atoms& atoms, bool across_ranks)
      : plan_(plan),
        atoms_(atoms),
        clocks_(plan, across_ranks),
        cells_(static_cast<std::size_t>(atoms.count()) * static_cast<std::size_t>(plan.ranks)) {}

  std::vector<Race> run() {
    for (std::size_t i = 0; i < plan_.ops.size(); ++i) step(plan_.ops[i], static_cast<std::int32_t>(i));
    std::vector<Race> races;
    for (const auto& [ops, race] : found_) races.push_back(race);
    return races;
  }

 private:
  void step(const Op& op, std::int32_t index) {
    const auto ranks = plan_.ranks_of(op);
    if (const auto* record = std::get_if<Record>(&op.action)) {
      for (Rank rank : ranks) clocks_.record(rank, op.stream, record->event, index);
      return;
    }
    if (const auto* wait = std::get_if<Wait>(&op.action)) {
      for (Rank rank : ranks) clocks_.wait(rank, op.stream, wait->event);
      return;
    }
    touch(op, index);
    if (const auto* communicate = std::get_if<Communicate>(&op.action)) {
      const auto size = static_cast<std::size_t>(communicate->group);
      for (std::size_t first = 0; first < ranks.size(); first += size)
        clocks_.meet(ranks.subspan(first, size), op.stream, index);
    }
  }

  void touch(const Op& op, std::int32_t index) {
    const Access access = ordered_access(op.action);
    const auto ranks = plan_.ranks_of(op);
    View known{BufferId{-1}, 0, 0};
    std::pair<std::int32_t, std::int32_t> range{0, 0};
    each_view(plan_, op, access, [&](int operand, std::size_t i, const View& view) {
      if (!(view == known)) {
        known = view;
        range = atoms_.of(view);
      }
      const bool reads = access.reads >> operand & 1, writes = access.writes >> operand & 1;
      if (range.first == range.second) return;
      const PerStream seen = clocks_.seen(ranks[i], op.stream);
      Cell* const cells =
          cells_.data() + static_cast<std::size_t>(ranks[i].value) * static_cast<std::size_t>(atoms_.count());
      for (std::int32_t atom = range.first; atom < range.second; ++atom) {
        Cell& cell = cells[atom];
        for (std::size_t o = 0; o < kStreams; ++o) {
          if (cell.written[o] > seen[o]) found(cell.written[o], index, ranks[i], {view.buffer, atom});
          if (writes && cell.read[o] > seen[o]) found(cell.read[o], index, ranks[i], {view.buffer, atom});
        }
        if (writes) cell.written[static_cast<std::size_t>(op.stream)] = index;
        if (reads) cell.read[static_cast<std::size_t>(op.stream)] = index;
      }
    });
  }

  struct Bytes {
    BufferId buffer;
    std::int32_t atom;
  };
  void found(std::int32_t first, std::int32_t second, Rank rank, Bytes bytes) {
    found_.try_emplace({second, first},
                       Race{OpIndex{first}, OpIndex{second}, rank, atoms_.view_of(bytes.buffer, bytes.atom)});
  }

  const Plan& plan_;
  const Atoms& atoms_;
  Clocks clocks_;
  std::vector<Cell> cells_;  // a rank, an atom
  std::map<std::pair<std::int32_t, std::int32_t>, Race> found_;
};

}  // namespace

Access ordered_access(const Action& action) {
  if (std::holds_alternative<CloseLease>(action)) return {0, 0b1};
  if (std::holds_alternative<Finish>(action)) return {0b1, 0};
  return access_of(action);
}

std::vector<Race> races_of(const Plan& plan) {
  const Atoms atoms(plan);
  std::vector<Race> races = Search(plan, atoms, false).run();
  if (!races.empty()) races = Search(plan, atoms, true).run();
  return races;
}

}  // namespace shardcheck
