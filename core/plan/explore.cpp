#include "core/plan/explore.h"

#include <algorithm>
#include <bit>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "core/plan/happens_before.h"
#include "core/plan/races.h"

namespace shardcheck {
namespace {

constexpr std::size_t kMostRacingOps = 1024;

/// Two conflicting ops without an order, by index in the plan: first < second.
using Pair = std::pair<std::int32_t, std::int32_t>;

/// What a stream of a rank has done with a buffer.
struct Touch {
  std::int32_t op;
  std::int64_t begin, end;
  bool writes;
};

/// All of them, the later op ascending, of one later op the closest earlier one first: what it decides for
/// those before it need not be chosen again.
std::vector<Pair> pairs_of(const Plan& plan, const HappensBefore& order) {
  std::map<std::tuple<std::int32_t, std::int32_t, int>, std::vector<Touch>> touches;  // rank, buffer, stream
  std::vector<Pair> pairs;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan.ops.size()); ++i) {
    const Op& op = plan.ops[static_cast<std::size_t>(i)];
    const auto ranks = plan.ranks_of(op);
    std::set<std::int32_t, std::greater<>> others;
    const Access access = ordered_access(op.action);
    for (int operand = 0; operand < op.operands; ++operand) {
      const bool reads = access.reads >> operand & 1, writes = access.writes >> operand & 1;
      if (!reads && !writes) continue;
      const auto views = plan.operand(op, operand);
      for (std::size_t r = 0; r < views.size(); ++r) {
        const Touch mine{i, views[r].offset, views[r].offset + views[r].numel, writes};
        const auto of = [&](int stream) -> std::vector<Touch>& {
          return touches[{ranks[r].value, views[r].buffer.value, stream}];
        };
        for (int stream = 0; stream < kStreams; ++stream) {
          if (stream == static_cast<int>(op.stream)) continue;
          const std::int32_t known = order.last_before(OpIndex{i}, ranks[r], static_cast<Stream>(stream));
          const std::vector<Touch>& theirs = of(stream);
          for (auto other = theirs.rbegin(); other != theirs.rend() && other->op > known; ++other) {
            const bool overlaps = other->begin < mine.end && mine.begin < other->end;
            if (overlaps && (other->writes || writes)) others.insert(other->op);
          }
        }
        of(static_cast<int>(op.stream)).push_back(mine);
      }
    }
    for (const std::int32_t other : others) pairs.emplace_back(other, i);
  }
  return pairs;
}

/// The order among the racing ops: a square of bits, closed under "then", that can be taken back.
class Closure {
 public:
  explicit Closure(std::size_t ops) : words_((ops + 63) / 64), after_(ops * words_), before_(ops * words_) {}

  bool has(std::size_t a, std::size_t b) const { return after_[a * words_ + b / 64] >> (b % 64) & 1; }

  /// `a` before `b`, and so all that is before `a` before all that is after `b`.
  void add(std::size_t a, std::size_t b) {
    std::vector<std::uint64_t> firsts = row(before_, a), lasts = row(after_, b);
    firsts[a / 64] |= std::uint64_t{1} << (a % 64);
    lasts[b / 64] |= std::uint64_t{1} << (b % 64);
    each_bit(firsts, [&](std::size_t x) { merge(after_, x, lasts); });
    each_bit(lasts, [&](std::size_t y) { merge(before_, y, firsts); });
  }

  std::size_t mark() const { return changes_.size(); }
  void take_back(std::size_t mark) {
    for (; changes_.size() > mark; changes_.pop_back()) *changes_.back().first = changes_.back().second;
  }

 private:
  using Bits = std::vector<std::uint64_t>;
  Bits row(const Bits& of, std::size_t i) const {
    const auto first = of.begin() + static_cast<std::ptrdiff_t>(i * words_);
    return {first, first + static_cast<std::ptrdiff_t>(words_)};
  }
  template <class Visit>
  static void each_bit(const Bits& bits, Visit visit) {
    for (std::size_t w = 0; w < bits.size(); ++w) {
      for (std::uint64_t rest = bits[w]; rest != 0; rest &= rest - 1)
        visit(64 * w + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }
  void merge(Bits& into, std::size_t i, const Bits& bits) {
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t& word = into[i * words_ + w];
      if ((word | bits[w]) == word) continue;
      changes_.emplace_back(&word, word);
      word |= bits[w];
    }
  }

  std::size_t words_;
  Bits after_, before_;
  std::vector<std::pair<std::uint64_t*, std::uint64_t>> changes_;
};

class Explorer {
 public:
  Explorer(const Plan& plan, std::int64_t most, const std::function<void(const ScheduleClass&)>& visit)
      : plan_(plan), order_(plan), most_(most), visit_(visit), pairs_(pairs_of(plan, order_)) {
    explored_.pairs = std::ssize(pairs_);
    std::set<std::int32_t> racing;
    for (const Pair& pair : pairs_) racing.insert({pair.first, pair.second});
    if (racing.size() > kMostRacingOps) {
      racing.erase(std::next(racing.begin(), kMostRacingOps), racing.end());
      const auto is_late = [&](const Pair& pair) { return !racing.contains(pair.second); };
      std::ranges::copy_if(pairs_, std::back_inserter(as_planned_), is_late);
      std::erase_if(pairs_, is_late);
    }
    racing_.assign(racing.begin(), racing.end());
  }

  Explored run() {
    Closure closure(racing_.size());
    for (std::size_t b = 0; b < racing_.size(); ++b) {
      for (std::size_t a = b; a-- > 0;) {
        if (!closure.has(a, b) && order_.orders(OpIndex{racing_[a]}, OpIndex{racing_[b]})) closure.add(a, b);
      }
    }
    // One round a number of reversed pairs, so that what is left out is farthest from the plan.
    bool has_more = true;
    for (std::size_t reversals = 0; has_more && !is_full(); ++reversals) {
      has_more = false;
      choose(closure, 0, reversals, has_more);
    }
    explored_.are_all = !has_more && !is_full_ && as_planned_.empty();
    return explored_;
  }

 private:
  std::size_t number_of(std::int32_t op) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(racing_, op) - racing_.begin());
  }
  bool is_full() const { return explored_.classes == most_; }

  /// Chooses an order for the pairs from `at` on that are still free, exactly `left` of them against the
  /// plan. `has_more`: some choice would reverse more than that.
  void choose(Closure& closure, std::size_t at, std::size_t left, bool& has_more) {
    std::size_t a = 0, b = 0;
    const std::size_t mark = closure.mark();
    for (; at < pairs_.size() && !is_full_; ++at) {
      a = number_of(pairs_[at].first);
      b = number_of(pairs_[at].second);
      if (closure.has(a, b) || closure.has(b, a)) continue;
      if (left == 0) {
        has_more = true;
        closure.add(a, b);
        continue;
      }
      choose_reversed(closure, at, {b, a}, left, has_more);
      closure.add(a, b);
    }
    if (left == 0) finish(closure);
    closure.take_back(mark);
  }
  void choose_reversed(Closure& closure, std::size_t at, std::pair<std::size_t, std::size_t> reversal,
                       std::size_t left, bool& has_more) {
    const std::size_t mark = closure.mark();
    closure.add(reversal.first, reversal.second);
    reversed_.emplace_back(OpIndex{pairs_[at].first}, OpIndex{pairs_[at].second});
    choose(closure, at + 1, left - 1, has_more);
    reversed_.pop_back();
    closure.take_back(mark);
  }

  void finish(const Closure& closure) {
    if (is_full()) {
      is_full_ = true;
      return;
    }
    ++explored_.classes;
    visit_({schedule(closure), reversed_});
  }

  /// The next op is always the earliest of the plan that may come now.
  std::vector<OpIndex> schedule(const Closure& closure) const {
    const std::size_t count = plan_.ops.size();
    std::vector<std::vector<std::int32_t>> followers(count);
    std::vector<std::int32_t> waits_for(count, 0);
    const auto add = [&](std::int32_t before, std::int32_t after) {
      followers[static_cast<std::size_t>(before)].push_back(after);
      ++waits_for[static_cast<std::size_t>(after)];
    };
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(count); ++i) {
      for (const std::int32_t before : order_.before(OpIndex{i})) add(before, i);
    }
    for (const Pair& pair : as_planned_) add(pair.first, pair.second);
    for (const Pair& pair : pairs_) {
      const bool as_planned = closure.has(number_of(pair.first), number_of(pair.second));
      as_planned ? add(pair.first, pair.second) : add(pair.second, pair.first);
    }
    std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(count); ++i) {
      if (waits_for[static_cast<std::size_t>(i)] == 0) ready.push(i);
    }
    std::vector<OpIndex> order;
    order.reserve(count);
    while (!ready.empty()) {
      const std::int32_t op = ready.top();
      ready.pop();
      order.push_back(OpIndex{op});
      for (const std::int32_t next : followers[static_cast<std::size_t>(op)]) {
        if (--waits_for[static_cast<std::size_t>(next)] == 0) ready.push(next);
      }
    }
    return order;
  }

  const Plan& plan_;
  const HappensBefore order_;
  const std::int64_t most_;
  const std::function<void(const ScheduleClass&)>& visit_;
  std::vector<Pair> pairs_;           // each is chosen
  std::vector<Pair> as_planned_;      // beyond the limit of what is
  std::vector<std::int32_t> racing_;  // ops of pairs_, ascending
  std::vector<std::pair<OpIndex, OpIndex>> reversed_;
  Explored explored_;
  bool is_full_ = false;
};

}  // namespace

Explored explore(const Plan& plan, std::int64_t most,
                 const std::function<void(const ScheduleClass&)>& visit) {
  return Explorer(plan, most, visit).run();
}

}  // namespace shardcheck
